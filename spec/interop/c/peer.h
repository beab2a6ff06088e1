/*
 * What the programs beside this file share: options, sockets, and the receiving side of a heartbeat-only connection
 * as section 4.2 of spec/HB1.md has it. IPv4 and numeric addresses only; these are test peers.
 */
#ifndef PEER_H
#define PEER_H

#include "hb1.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

_Noreturn static inline void die(const char *what) {
  perror(what);
  exit(1);
}

/* A whole number within its bounds, or the end of the program with the status of a usage error. */
static inline long number_in(const char *name, const char *text, long least, long greatest) {
  char *end;
  long value = text ? strtol(text, &end, 10) : 0;
  if (text && *text && *end == '\0' && value >= least && value <= greatest) return value;
  fprintf(stderr, "%s must be a whole number from %ld to %ld\n", name, least, greatest);
  exit(2);
}

static inline struct sockaddr_in address_of(const char *host, long port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  if (inet_pton(AF_INET, host, &address.sin_addr) == 1) return address;
  fprintf(stderr, "%s is not a numeric IPv4 address\n", host);
  exit(2);
}

/* Sixteen bytes shall leave at once, not wait for more. */
static inline void send_at_once(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* Listen on loopback; port 0 takes any. The port in use is printed, alone on its line. */
static inline int listen_on(long port) {
  struct sockaddr_in address = address_of("127.0.0.1", port);
  socklen_t size = sizeof address;
  int yes = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) die("socket");
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) die("bind");
  if (listen(listener, 4096) < 0) die("listen");
  if (getsockname(listener, (struct sockaddr *)&address, &size) < 0) die("getsockname");
  printf("%u\n", (unsigned)ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

/* ---- receiving, heartbeat-only ---- */

enum { CHUNK_BYTES = 4096 };

struct receiver {
  uint8_t bytes[HB1_FRAME_BYTES - 1 + CHUNK_BYTES]; /* what is held, and room for one read behind it */
  size_t held;
  int budget;
};

typedef void on_frame(void *context, uint8_t flags, uint32_t seq, uint32_t timestamp);

static inline void receiver_begin(struct receiver *receiver) {
  receiver->held = 0;
  receiver->budget = HB1_RESYNC_BUDGET_BYTES;
}

static inline uint8_t *receiver_room(struct receiver *receiver) { return receiver->bytes + receiver->held; }

/*
 * How many bytes to pass over at the front of `left` > 0 bytes; 0: wait for more. A frame there is delivered. A fatal
 * error goes to *fatal.
 */
static inline size_t receiver_step(struct receiver *receiver, const uint8_t *at, size_t left, on_frame *deliver,
                                   void *context, const char **fatal) {
  size_t skip = 1;
  if (at[0] == HB1_MAGIC_0 && left < 2) return 0;
  if (at[0] == HB1_MAGIC_0 && at[1] == HB1_MAGIC_1) {
    uint8_t flags;
    uint32_t seq, timestamp;
    enum hb1_code code = hb1_decode(at, left, HB1_RESERVED_STRICT, &flags, &seq, &timestamp);
    if (code == HB1_ERR_LENGTH) return 0;
    if (code == HB1_ERR_VERSION || code == HB1_ERR_RESERVED) *fatal = hb1_code_name(code);
    if (code == HB1_GOOD) {
      receiver->budget += HB1_RESYNC_REPAY_BYTES;
      if (receiver->budget > HB1_RESYNC_BUDGET_BYTES) receiver->budget = HB1_RESYNC_BUDGET_BYTES;
      deliver(context, flags, seq, timestamp);
      return HB1_FRAME_BYTES;
    }
    if (code == HB1_ERR_FLAGS) skip = HB1_FRAME_BYTES;
  }
  receiver->budget -= (int)skip;
  if (receiver->budget < 0 && *fatal == NULL) *fatal = "HB_ERR_RESYNC";
  return skip;
}

/* `count` bytes were read into receiver_room. NULL, or the code of a fatal error: then the link is to be closed. */
static inline const char *receiver_take(struct receiver *receiver, size_t count, on_frame *deliver, void *context) {
  const char *fatal = NULL;
  size_t at = 0, end = receiver->held + count;
  while (at < end) {
    size_t step = receiver_step(receiver, receiver->bytes + at, end - at, deliver, context, &fatal);
    if (fatal) return fatal;
    if (step == 0) break;
    at += step;
  }
  receiver->held = end - at;
  memmove(receiver->bytes, receiver->bytes + at, receiver->held);
  return NULL;
}

#endif
