/** Causes of death on real sockets, by TCP_INFO, read through the optional package koffi. */
import { describe } from 'vitest';
import { nativeSockets } from '../../../src/net/native/native.ts';
import { describeRealLinks } from './real-links.ts';

describe.skipIf(nativeSockets() === undefined)('with native access', () => describeRealLinks('tcp-info'));
