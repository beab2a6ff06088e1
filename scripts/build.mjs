console.log('build placeholder');
