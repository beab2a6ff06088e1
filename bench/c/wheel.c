/*
 * The limit for wheel.bench.ts: a timer wheel in C with what ours promises (four levels of 256 slots, the same tick,
 * arm, rearm and cancel in constant time by a handle with a generation, order of arming within a tick, exact size,
 * growth by doubling), and the same timers in the same order. The nodes lie in one array with their links inside,
 * packed to 20 bytes: at a million timers it is the memory that costs. Left out is what no row meets: deadlines 2^32
 * ticks ahead, the order of those already reached (they fire with the next tick), limits, errors. Deadlines are whole
 * milliseconds. Prints one JSON object, row name -> best ns per timer. Any argument: tiny, once. Exit code 1 when a
 * check fails.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_MS = 10, SPREAD_MS = 15000, TRIES = 6 };
enum { SLOTS = 1024, FIRING = SLOTS, HEADS = SLOTS + 1, FIRST_CAPACITY = 64 };

/* In place of a previous neighbour: this timer's callback runs right now. No place has this number. */
static const uint32_t RUNNING = UINT32_MAX;

/* Generation in the upper half, place in the lower. */
typedef uint64_t handle_t;

struct __attribute__((packed, aligned(4))) timer {
  double deadline_ms;
  uint32_t next, previous, generation;
};

struct wheel {
  struct timer *timers; /* the first HEADS of them are the heads of the lists */
  void **payloads;      /* by place */
  uint32_t capacity, first_fresh, first_free, size;
  uint64_t tick, reached_tick;
  uint64_t occupied[SLOTS / 64];
  uint32_t summary;
  void (*on_expire)(struct wheel *wheel, void *payload, double deadline_ms);
};

static void fail(const char *what) {
  fprintf(stderr, "wheel.c: %s\n", what);
  exit(1);
}

static inline void empty(struct timer *timers, uint32_t head) { timers[head].next = timers[head].previous = head; }

static inline void append(struct wheel *wheel, uint32_t head, uint32_t place) {
  struct timer *timers = wheel->timers;
  uint32_t last = timers[head].previous;
  timers[last].next = place;
  timers[place].next = head;
  timers[place].previous = last;
  timers[head].previous = place;
}

static inline void mark(struct wheel *wheel, uint32_t slot) {
  wheel->occupied[slot >> 6] |= 1ull << (slot & 63);
  wheel->summary |= 1u << (slot >> 6);
}

static inline void unmark(struct wheel *wheel, uint32_t slot) {
  if ((wheel->occupied[slot >> 6] &= ~(1ull << (slot & 63))) == 0) wheel->summary &= ~(1u << (slot >> 6));
}

/* The lowest occupied slot, which is always the next to open; SLOTS when there is none. */
static inline uint32_t first_slot(const struct wheel *wheel) {
  if (wheel->summary == 0) return SLOTS;
  uint32_t word = (uint32_t)__builtin_ctz(wheel->summary);
  return word * 64 + (uint32_t)__builtin_ctzll(wheel->occupied[word]);
}

static inline void unlink_timer(struct wheel *wheel, uint32_t place) {
  struct timer *timers = wheel->timers;
  uint32_t after = timers[place].next, before = timers[place].previous;
  timers[before].next = after;
  timers[after].previous = before;
  if (after == before && after < SLOTS) unmark(wheel, after);
}

/* The first tick at or after a deadline; the quotient may be off by one either way. */
static inline uint64_t first_tick(double deadline_ms) {
  int64_t tick = (int64_t)(deadline_ms * (1.0 / TICK_MS));
  if ((double)tick * TICK_MS < deadline_ms) tick++;
  if ((double)(tick - 1) * TICK_MS >= deadline_ms) tick--;
  return (uint64_t)tick;
}

/* Put a timer into the slot for its tick, which is after the current one: see src/time/wheel.ts. */
static inline void lay(struct wheel *wheel, uint32_t place, uint64_t tick) {
  uint64_t differs = tick ^ wheel->tick;
  if (differs >> 32) fail("a deadline too far ahead");
  uint32_t level = (31u - (uint32_t)__builtin_clz((uint32_t)differs)) >> 3;
  uint32_t slot = level * 256 + (uint32_t)(tick >> (level * 8) & 255);
  append(wheel, slot, place);
  mark(wheel, slot);
}

static inline void file(struct wheel *wheel, uint32_t place, double deadline_ms) {
  uint64_t tick = first_tick(deadline_ms);
  wheel->timers[place].deadline_ms = deadline_ms;
  wheel->size++;
  lay(wheel, place, tick > wheel->reached_tick ? tick : wheel->reached_tick + 1);
}

static void *resized(void *memory, size_t bytes) {
  memory = realloc(memory, bytes);
  if (memory == NULL) fail("out of memory");
  return memory;
}

static __attribute__((noinline)) void set_capacity(struct wheel *wheel, uint32_t capacity) {
  size_t places = HEADS + (size_t)capacity;
  wheel->timers = resized(wheel->timers, places * sizeof *wheel->timers);
  wheel->payloads = resized(wheel->payloads, places * sizeof *wheel->payloads);
  wheel->capacity = capacity;
}

static inline handle_t arm(struct wheel *wheel, double deadline_ms, void *payload) {
  uint32_t place = wheel->first_free;
  if (place != 0) {
    wheel->first_free = wheel->timers[place].next;
  } else {
    if (wheel->first_fresh == HEADS + wheel->capacity) set_capacity(wheel, wheel->capacity * 2);
    place = wheel->first_fresh++;
    wheel->timers[place].generation = 0;
  }
  wheel->payloads[place] = payload;
  file(wheel, place, deadline_ms);
  return (handle_t)wheel->timers[place].generation << 32 | place;
}

/* A place that is given back takes its next generation, which no handle has yet. */
static inline void release(struct wheel *wheel, uint32_t place) {
  wheel->timers[place].generation++;
  wheel->payloads[place] = NULL;
  wheel->timers[place].next = wheel->first_free;
  wheel->first_free = place;
}

/* The place a handle names, 0 when it is stale. */
static inline uint32_t place_of(const struct wheel *wheel, handle_t handle) {
  uint32_t place = (uint32_t)handle;
  if (place < HEADS || place >= wheel->first_fresh) return 0;
  return wheel->timers[place].generation == (uint32_t)(handle >> 32) ? place : 0;
}

static inline int rearm(struct wheel *wheel, handle_t handle, double deadline_ms) {
  uint32_t place = place_of(wheel, handle);
  if (place == 0) return 0;
  if (wheel->timers[place].previous != RUNNING) {
    wheel->size--;
    unlink_timer(wheel, place);
  }
  file(wheel, place, deadline_ms);
  return 1;
}

static inline int cancel(struct wheel *wheel, handle_t handle) {
  uint32_t place = place_of(wheel, handle);
  if (place == 0 || wheel->timers[place].previous == RUNNING) return 0;
  wheel->size--;
  unlink_timer(wheel, place);
  release(wheel, place);
  return 1;
}

/* Deal the list of an upper slot out anew, as seen from the current tick; the lowest level is due as a whole. */
static void open_slot(struct wheel *wheel, uint32_t slot) {
  uint32_t place = wheel->timers[slot].next;
  unmark(wheel, slot);
  empty(wheel->timers, slot);
  while (place != slot) {
    uint32_t following = wheel->timers[place].next;
    uint64_t tick = first_tick(wheel->timers[place].deadline_ms);
    if (tick <= wheel->tick) append(wheel, FIRING, place);
    else lay(wheel, place, tick);
    place = following;
  }
}

static void detach_slot(struct wheel *wheel, uint32_t slot) {
  struct timer *timers = wheel->timers;
  unmark(wheel, slot);
  timers[FIRING] = timers[slot];
  timers[timers[slot].next].previous = FIRING;
  timers[timers[slot].previous].next = FIRING;
  empty(timers, slot);
}

static void fire(struct wheel *wheel) {
  for (uint32_t place; (place = wheel->timers[FIRING].next) != FIRING;) {
    unlink_timer(wheel, place);
    wheel->timers[place].previous = RUNNING;
    wheel->size--;
    wheel->on_expire(wheel, wheel->payloads[place], wheel->timers[place].deadline_ms);
    if (wheel->timers[place].previous == RUNNING) release(wheel, place);
  }
}

static void advance(struct wheel *wheel, double now_ms) {
  uint64_t now_tick = (uint64_t)(now_ms * (1.0 / TICK_MS));
  if (now_tick > wheel->reached_tick) wheel->reached_tick = now_tick;
  for (uint32_t slot; (slot = first_slot(wheel)) < SLOTS;) {
    uint32_t level = slot >> 8, turn_bits = (level + 1) * 8;
    uint64_t tick = (wheel->tick >> turn_bits << turn_bits) + ((uint64_t)(slot & 255) << (level * 8));
    if (tick > wheel->reached_tick) break;
    wheel->tick = tick;
    if (level == 0) detach_slot(wheel, slot);
    else open_slot(wheel, slot);
    fire(wheel);
  }
  wheel->tick = wheel->reached_tick;
}

static struct wheel *new_wheel(void (*on_expire)(struct wheel *, void *, double)) {
  struct wheel *wheel = resized(NULL, sizeof *wheel);
  memset(wheel, 0, sizeof *wheel);
  set_capacity(wheel, FIRST_CAPACITY);
  wheel->first_fresh = HEADS;
  wheel->on_expire = on_expire;
  for (uint32_t head = 0; head < HEADS; head++) empty(wheel->timers, head);
  return wheel;
}

static void free_wheel(struct wheel *wheel) {
  free(wheel->timers);
  free(wheel->payloads);
  free(wheel);
}

static uint64_t fired;

static void count_timer(struct wheel *wheel, void *payload, double deadline_ms) {
  (void)wheel;
  (void)payload;
  (void)deadline_ms;
  fired++;
}

/* Read at run time: the compiler may not know which function a wheel calls, no more than in a library. */
static void (*volatile chosen)(struct wheel *, void *, double) = count_timer;

static double checked_now_ms, last_deadline_ms;

/* Timers fire on the first tick at or after their deadline, and in order of ticks; each comes back once. */
static void check_timer(struct wheel *wheel, void *payload, double deadline_ms) {
  handle_t *handle = payload;
  if (deadline_ms > checked_now_ms || deadline_ms <= checked_now_ms - TICK_MS) fail("fired at a wrong time");
  if (first_tick(deadline_ms) < first_tick(last_deadline_ms)) fail("fired out of order");
  last_deadline_ms = deadline_ms;
  if (cancel(wheel, *handle)) fail("cancelled a timer that fires");
  if (fired++ % 2 == 0 && !rearm(wheel, *handle, checked_now_ms + 700000)) fail("could not rearm from the callback");
}

/* The promises on a small wheel, over three of its levels; what is measured below is checked by its counts. */
static void check_wheel(void) {
  enum { COUNT = 3000, CANCELLED = COUNT / 3 };
  static handle_t handles[COUNT];
  struct wheel *wheel = new_wheel(check_timer);
  for (int i = 0; i < COUNT; i++) handles[i] = arm(wheel, 1 + i * 7919 % 3000 * 1000.0, &handles[i]);
  for (int i = 0; i < COUNT; i++)
    if (!rearm(wheel, handles[i], 1 + i * 7907 % 3000 * 300.0)) fail("could not rearm");
  for (int i = 0; i < COUNT; i += 3)
    if (!cancel(wheel, handles[i]) || cancel(wheel, handles[i]) || rearm(wheel, handles[i], 1)) fail("stale handle");
  if (wheel->size != COUNT - CANCELLED) fail("wrong size");
  while (wheel->size > 0 && checked_now_ms < 3e7) advance(wheel, checked_now_ms += TICK_MS);
  if (wheel->size != 0 || fired < COUNT - CANCELLED) fail("lost timers");
  for (int i = 0; i < COUNT; i++)
    if (cancel(wheel, handles[i])) fail("cancelled a timer that has fired");
  free_wheel(wheel);
  fired = 0;
}

static double now_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Distances to deadlines; the step shares no factor with the spread, so neighbours lie far apart. */
static double *distances(uint32_t count, uint64_t step) {
  double *after = resized(NULL, count * sizeof *after);
  for (uint32_t i = 0; i < count; i++) after[i] = (double)(SPREAD_MS + i * step % SPREAD_MS);
  return after;
}

enum part { ARM, REARM, CANCEL, IN_ORDER, SHUFFLED, PARTS };

static const char *const PART_NAMES[PARTS] = {"arm", "rearm", "cancel", "fire in order", "fire shuffled"};

static void keep_best(double *best, double started_ns, uint32_t count) {
  double each = (now_ns() - started_ns) / count;
  if (each < *best) *best = each;
}

static void arm_all(struct wheel *wheel, handle_t *handles, double now_ms, const double *after, uint32_t count) {
  static int payload;
  for (uint32_t i = 0; i < count; i++) handles[i] = arm(wheel, now_ms + after[i], &payload);
}

/* Best time per timer of each part, taken as wheelParts in wheel.bench.ts takes it. */
static void measure(uint32_t count, uint32_t tries, double best[PARTS]) {
  double *shuffled = distances(count, 7919), *moved = distances(count, 7907), *ordered = distances(count, 7919);
  handle_t *handles = resized(NULL, count * sizeof *handles);
  qsort(ordered, count, sizeof *ordered, by_value);
  for (int part = 0; part < PARTS; part++) best[part] = 1e300;
  fired = 0;
  struct wheel *wheel = new_wheel(chosen);
  for (uint32_t round = 0; round < tries; round++) {
    double started = now_ns();
    arm_all(wheel, handles, 0, shuffled, count);
    keep_best(&best[ARM], started, count);
    uint32_t done = 0;
    started = now_ns();
    for (uint32_t i = 0; i < count; i++) done += (uint32_t)rearm(wheel, handles[i], moved[i]);
    keep_best(&best[REARM], started, count);
    started = now_ns();
    for (uint32_t i = 0; i < count; i++) done += (uint32_t)cancel(wheel, handles[i]);
    keep_best(&best[CANCEL], started, count);
    if (done != 2 * count || wheel->size != 0) fail("rearm or cancel missed a timer");
  }
  free_wheel(wheel);
  for (int part = IN_ORDER; part <= SHUFFLED; part++) {
    wheel = new_wheel(chosen);
    double now_ms = 0;
    for (uint32_t round = 0; round < tries; round++) {
      arm_all(wheel, handles, now_ms, part == IN_ORDER ? ordered : shuffled, count);
      double end_ms = now_ms + 2 * SPREAD_MS, started = now_ns();
      while (now_ms < end_ms) advance(wheel, now_ms += TICK_MS);
      keep_best(&best[part], started, count);
    }
    if (wheel->size != 0) fail("timers left over");
    free_wheel(wheel);
  }
  if (fired != 2ull * tries * count) fail("lost timers");
  free(shuffled);
  free(moved);
  free(ordered);
  free(handles);
}

int main(int arguments, char **argument) {
  static const uint32_t FULL[] = {10000, 100000, 1000000}, TINY[] = {100};
  int quick = arguments > 1;
  const uint32_t *counts = quick ? TINY : FULL;
  (void)argument;
  check_wheel();
  for (int at = 0; at < (quick ? 1 : 3); at++) {
    double best[PARTS];
    uint32_t tries = 1000000 / counts[at] > TRIES ? 1000000 / counts[at] : TRIES;
    measure(counts[at], quick ? 1 : tries, best);
    for (int part = 0; part < PARTS; part++) {
      const char *before = at + part == 0 ? "{" : ", ";
      printf("%s\"wheel %s, %u timers\": %.3f", before, PART_NAMES[part], counts[at], best[part]);
    }
  }
  puts("}");
  return 0;
}
