/*
 * Returns every byte to where it came from: one thread, epoll, no protocol. What a machine can do at best with
 * connections that only echo, as the limit beside measurements of servers that do more.
 *
 *   echo-epoll [--port N]
 *
 * Port 0 (default) takes any; the one in use is the first line printed. A peer that does not read is not read either:
 * at most 64 KB are kept for it, on the heap and only while they wait.
 */
#define _GNU_SOURCE /* accept4 */
#include "peer.h"

#include <errno.h>
#include <sys/epoll.h>

enum { BUFFER_BYTES = 65536, BATCH_EVENTS = 256 };

struct link {
  int socket;
  uint8_t *unsent; /* NULL: nothing waits */
  size_t at, end;
};

static uint8_t buffer[BUFFER_BYTES];

static void link_close(struct link *link) {
  close(link->socket); /* leaves the epoll set too */
  free(link->unsent);
  free(link);
}

/* Wait for room while bytes are kept, for bytes otherwise. */
static int link_watch(int epoll, struct link *link) {
  struct epoll_event event = {.events = link->unsent ? EPOLLOUT : EPOLLIN, .data.ptr = link};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, link->socket, &event) == 0;
}

/* How many bytes the kernel took, or -1: the connection is broken. */
static ssize_t link_send(struct link *link, const uint8_t *bytes, size_t count) {
  ssize_t sent = send(link->socket, bytes, count, MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* These functions return 0 when the connection is over. */
static int link_read(int epoll, struct link *link) {
  ssize_t count = recv(link->socket, buffer, sizeof buffer, 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return 0;
  ssize_t sent = link_send(link, buffer, (size_t)count);
  if (sent < 0 || sent == count) return sent == count;
  link->at = 0;
  link->end = (size_t)(count - sent);
  link->unsent = malloc(link->end);
  if (link->unsent == NULL) return 0;
  memcpy(link->unsent, buffer + sent, link->end);
  return link_watch(epoll, link);
}

static int link_flush(int epoll, struct link *link) {
  ssize_t sent = link_send(link, link->unsent + link->at, link->end - link->at);
  if (sent < 0) return 0;
  link->at += (size_t)sent;
  if (link->at < link->end) return 1;
  free(link->unsent);
  link->unsent = NULL;
  return link_watch(epoll, link);
}

static void accept_all(int epoll, int listener) {
  int socket;
  while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct link *link = calloc(1, sizeof *link);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    if (link) link->socket = socket;
    if (link == NULL || epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) < 0) {
      close(socket);
      free(link);
      continue;
    }
    send_at_once(socket);
  }
}

static void serve(int listener) {
  static struct epoll_event events[BATCH_EVENTS];
  struct epoll_event listening = {.events = EPOLLIN}; /* a null pointer stands for the listener */
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &listening) < 0) die("epoll");
  for (;;) {
    int count = epoll_wait(epoll, events, BATCH_EVENTS, -1);
    if (count < 0 && errno != EINTR) die("epoll_wait");
    for (int at = 0; at < count; at++) {
      struct link *link = events[at].data.ptr;
      if (link == NULL)
        accept_all(epoll, listener);
      else if (!(link->unsent ? link_flush(epoll, link) : link_read(epoll, link)))
        link_close(link);
    }
  }
}

int main(int count, char **arguments) {
  long port = 0;
  if (count == 3 && strcmp(arguments[1], "--port") == 0)
    port = number_in("--port", arguments[2], 0, 65535);
  else if (count != 1) {
    fprintf(stderr, "usage: %s [--port N]\n", arguments[0]);
    return 2;
  }
  serve(listen_on(port));
}
