/*
 * The limit for codec.bench.ts: the same work in C, one table per byte position, compiled with -O3 for this
 * processor. Every result flows into `sink` or into memory the compiler must assume is read, so no work can be
 * dropped. Prints one JSON object, row name -> best ns per operation. An argument sets the number of passes.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 1024, FRAME = 16, STRIDE = 34, PAYLOAD = 60, PAIR = FRAME + 4 + PAYLOAD, PAIRS = 65536 / PAIR };

static uint16_t table[12][256], constant_part;
static uint8_t frames[FRAMES * FRAME], scattered[FRAMES * STRIDE + 64], mixed[PAIRS * PAIR];
static uint32_t seqs[FRAMES];
static volatile uint32_t sink;

static uint16_t crc_byte(uint16_t crc, uint8_t byte) {
  crc ^= (uint16_t)(byte << 8);
  for (int bit = 0; bit < 8; bit++) crc = (uint16_t)((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0));
  return crc;
}

/* CRC is linear: byte i alone, followed by zeros to the end, adds table[i][byte]; position 0 carries the init. */
static void make_tables(void) {
  for (int at = 0; at < 12; at++)
    for (int value = 0; value < 256; value++) {
      uint16_t crc = at == 0 ? 0xffff : 0;
      crc = crc_byte(crc, (uint8_t)value);
      for (int rest = at + 1; rest < 12; rest++) crc = crc_byte(crc, 0);
      table[at][value] = crc;
    }
  constant_part = table[0][0x48] ^ table[1][0x42] ^ table[2][1];
}

static inline uint16_t crc12(const uint8_t *b) {
  return table[0][b[0]] ^ table[1][b[1]] ^ table[2][b[2]] ^ table[3][b[3]] ^ table[4][b[4]] ^ table[5][b[5]] ^
         table[6][b[6]] ^ table[7][b[7]] ^ table[8][b[8]] ^ table[9][b[9]] ^ table[10][b[10]] ^ table[11][b[11]];
}

/* The CRC of a frame from its fields: the constant bytes are one number, nine look-ups remain. */
static inline uint16_t crc_fields(uint32_t flags, uint32_t seq, uint32_t timestamp) {
  return constant_part ^ table[3][flags] ^ table[4][seq & 255] ^ table[5][seq >> 8 & 255] ^
         table[6][seq >> 16 & 255] ^ table[7][seq >> 24] ^ table[8][timestamp & 255] ^
         table[9][timestamp >> 8 & 255] ^ table[10][timestamp >> 16 & 255] ^ table[11][timestamp >> 24];
}

static inline void encode(uint8_t *to, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  uint32_t head = 0x00014248u | (uint32_t)flags << 24;
  uint32_t tail = crc_fields(flags, seq, timestamp);
  memcpy(to, &head, 4);
  memcpy(to + 4, &seq, 4);
  memcpy(to + 8, &timestamp, 4);
  memcpy(to + 12, &tail, 4);
}

/* 0 when good, else the number of the first failed check. A good frame takes one comparison per field pair. */
static inline int check(const uint8_t *b) {
  uint32_t head, seq, timestamp, tail;
  memcpy(&head, b, 4);
  memcpy(&seq, b + 4, 4);
  memcpy(&timestamp, b + 8, 4);
  memcpy(&tail, b + 12, 4);
  if ((head & 0xffffff) == 0x014248 && tail == crc_fields(head >> 24, seq, timestamp)) return 0;
  if ((head & 0xffff) != 0x4248) return 2;
  if ((tail & 0xffff) != crc12(b)) return 3;
  return (head >> 16 & 255) != 1 ? 4 : 5;
}

static inline uint32_t take(const uint8_t *b) {
  uint32_t seq, timestamp;
  if (check(b)) return 0;
  memcpy(&seq, b + 4, 4);
  memcpy(&timestamp, b + 8, 4);
  return seq + timestamp + b[3];
}

static uint32_t newest;
static uint64_t window_bits;

static inline int accept_seq(uint32_t seq) {
  int32_t ahead = (int32_t)(seq - newest);
  if (ahead > 0) {
    window_bits = ahead < 64 ? window_bits << ahead | 1 : 1;
    newest = seq;
    return 0;
  }
  if (ahead <= -64) return 2;
  uint64_t bit = 1ull << -ahead;
  if (window_bits & bit) return 1;
  window_bits |= bit;
  return 0;
}

/* Kept out of line: a chunk arrives by a call, and nothing is known of it before. */
static __attribute__((noinline)) uint32_t split(const uint8_t *bytes, uint32_t length) {
  uint32_t sum = 0;
  for (uint32_t at = 0; at < length;) {
    if (bytes[at] == 0x48) {
      sum += take(bytes + at);
      at += FRAME;
    } else {
      uint32_t payload = (uint32_t)bytes[at] << 24 | (uint32_t)bytes[at + 1] << 16 |
                         (uint32_t)bytes[at + 2] << 8 | bytes[at + 3];
      sum += payload;
      at += 4 + payload;
    }
  }
  return sum;
}

static void run_encode(void) {
  static uint32_t seq;
  for (int at = 0; at < FRAMES; at++, seq++) encode(frames + at * FRAME, 1, seq, seq * 7);
  __asm__ volatile("" : : "r"(frames) : "memory");
}

static void run_decode(void) {
  uint32_t sum = 0;
  for (int at = 0; at < FRAMES; at++) sum += take(frames + at * FRAME);
  sink = sum;
}

static void run_lone(void) {
  uint32_t sum = 0;
  for (int at = 0; at < FRAMES; at++) sum += (uint32_t)check(scattered + 5 + at * STRIDE);
  sink = sum;
}

static void run_crc(void) {
  uint32_t sum = 0;
  for (int at = 0; at < FRAMES; at++) sum += crc12(frames + at * FRAME);
  sink = sum;
}

static void run_accept(void) {
  static uint32_t base;
  uint32_t sum = 0;
  for (int at = 0; at < FRAMES; at++) sum += (uint32_t)accept_seq(base + seqs[at]);
  base += FRAMES;
  sink = sum;
}

static void run_split_large(void) { sink = split(mixed, sizeof mixed); }

static void run_split_small(void) {
  uint32_t sum = 0;
  for (int at = 0; at < FRAMES; at++) sum += split(frames + at * FRAME, FRAME);
  sink = sum;
}

static double now_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static double best(void (*run)(void), int operations, int passes) {
  double least = 1e300;
  for (int batch = 0; batch < 9; batch++) {
    double started = now_ns();
    for (int pass = 0; pass < passes; pass++) {
      run();
      __asm__ volatile("" : : : "memory");
    }
    double each = (now_ns() - started) / ((double)passes * operations);
    if (each < least) least = each;
  }
  return least;
}

int main(int count, char **arguments) {
  int passes = count > 1 ? atoi(arguments[1]) : 3000;
  make_tables();
  run_encode();
  for (int at = 0; at < FRAMES; at++)
    if (check(frames + at * FRAME)) return 1;
  for (int at = 0; at < FRAMES; at++) memcpy(scattered + 5 + at * STRIDE, frames + at * FRAME, FRAME);
  /* In order, but every 16th swapped with its successor and every 64th repeated. */
  for (uint32_t at = 0; at < FRAMES; at++)
    seqs[at] = at % 64 == 63 ? at - 1 : at % 16 == 4 ? at + 1 : at % 16 == 5 ? at - 1 : at;
  for (int at = 0; at < PAIRS; at++) {
    memcpy(mixed + at * PAIR, frames + at * FRAME, FRAME);
    mixed[at * PAIR + FRAME + 3] = PAYLOAD;
  }
  printf("{\"encode\": %.3f", best(run_encode, FRAMES, passes));
  printf(", \"decode + verify, batch\": %.3f", best(run_decode, FRAMES, passes));
  printf(", \"check a lone frame, odd offset\": %.3f", best(run_lone, FRAMES, passes));
  printf(", \"crc16 of 12 bytes\": %.3f", best(run_crc, FRAMES, passes));
  printf(", \"dedup accept\": %.3f", best(run_accept, FRAMES, passes));
  printf(", \"splitter, 64 KB mixed chunks\": %.3f", best(run_split_large, PAIRS, passes));
  printf(", \"splitter, one-frame chunks\": %.3f}\n", best(run_split_small, FRAMES, passes));
  return 0;
}
