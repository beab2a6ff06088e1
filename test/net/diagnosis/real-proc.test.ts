/** Causes of death on real sockets, by /proc/net/tcp: as on a machine without the optional package koffi. */
import { describeRealLinks } from './real-links.ts';

process.env.WIREBEAT_NATIVE = '0';
describeRealLinks('proc');
