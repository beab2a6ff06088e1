/*
 * A bare responder (section 14 of spec/HB1.md): answers every PING, ignores the rest, judges nobody. Heartbeat-only,
 * up to 64 connections, one thread, poll(2).
 *
 *   responder [--port N] [--garbage]
 *
 * --port: 0 (default) takes any; the one in use is the first line printed. --garbage leaves the two bytes of padding
 * behind its structure as they are, which strict peers refuse. Why a connection was closed goes to stderr.
 */
#define _GNU_SOURCE /* accept4 */
#include "peer.h"

#include <errno.h>
#include <poll.h>

enum { MAX_LINKS = 64 };

struct link {
  int socket;
  int broken;
  struct receiver receiver;
  uint8_t unsent[HB1_FRAME_BYTES]; /* the rest of a PONG the kernel took in part; it must go out before anything else */
  size_t unsent_bytes;
};

static int leave_garbage;

static void link_send(struct link *link, const uint8_t *bytes, size_t count) {
  ssize_t sent = send(link->socket, bytes, count, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) link->broken = 1;
  if (sent <= 0) return; /* nothing went out: this PING stays unanswered, nothing is queued without bound */
  link->unsent_bytes = count - (size_t)sent;
  memmove(link->unsent, bytes + sent, link->unsent_bytes);
}

static void link_answer(void *context, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  struct link *link = context;
  struct hb1_frame pong;
  if (!(flags & HB1_ACK_REQUEST) || link->unsent_bytes > 0 || link->broken) return;
  hb1_fill(&pong, HB1_ACK, seq, timestamp);
  if (leave_garbage) memset((uint8_t *)&pong + 14, 0xa5, 2);
  link_send(link, (const uint8_t *)&pong, sizeof pong);
}

/* 0 when the connection is over. */
static int link_read(struct link *link) {
  ssize_t count = recv(link->socket, receiver_room(&link->receiver), CHUNK_BYTES, 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return 0;
  const char *fatal = receiver_take(&link->receiver, (size_t)count, link_answer, link);
  if (fatal) fprintf(stderr, "%s\n", fatal);
  return fatal == NULL && !link->broken;
}

static int link_serve(struct link *link, short events) {
  if (events & POLLOUT) link_send(link, link->unsent, link->unsent_bytes);
  return !link->broken && (!(events & (POLLIN | POLLHUP | POLLERR)) || link_read(link));
}

static void link_open(struct link *link, int socket) {
  link->socket = socket;
  link->broken = 0;
  link->unsent_bytes = 0;
  receiver_begin(&link->receiver);
  send_at_once(socket);
}

static void serve(int listener) {
  static struct link links[MAX_LINKS];
  struct pollfd polled[1 + MAX_LINKS];
  int count = 0;
  for (;;) {
    polled[0] = (struct pollfd){.fd = count < MAX_LINKS ? listener : -1, .events = POLLIN};
    for (int at = 0; at < count; at++) {
      short events = links[at].unsent_bytes > 0 ? POLLIN | POLLOUT : POLLIN;
      polled[1 + at] = (struct pollfd){.fd = links[at].socket, .events = events};
    }
    if (poll(polled, (nfds_t)(1 + count), -1) < 0) {
      if (errno == EINTR) continue;
      die("poll");
    }
    for (int at = count - 1; at >= 0; at--) { /* from the end: the last one moves into a gap, and was served already */
      if (link_serve(&links[at], polled[1 + at].revents)) continue;
      close(links[at].socket);
      links[at] = links[--count];
    }
    if (polled[0].revents & POLLIN) {
      int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (socket >= 0) link_open(&links[count++], socket);
    }
  }
}

int main(int count, char **arguments) {
  long port = 0;
  for (int at = 1; at < count; at++) {
    if (strcmp(arguments[at], "--garbage") == 0)
      leave_garbage = 1;
    else if (strcmp(arguments[at], "--port") == 0)
      port = number_in("--port", arguments[++at], 0, 65535);
    else {
      fprintf(stderr, "usage: %s [--port N] [--garbage]\n", arguments[0]);
      return 2;
    }
  }
  serve(listen_on(port));
}
