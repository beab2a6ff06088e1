/*
 * Sends PINGs one after the other, checks every answer, answers the peer's own PINGs, and prints one JSON object.
 *
 *   client [--host 127.0.0.1] --port N [--count 5] [--timeout-ms 1000] [--garbage]
 *
 * sent, answered: PINGs of ours, and good PONGs to them. errors: PONGs that echo nothing we asked. goaway: the reason
 * of a GOAWAY received, or null. end: "done", "timeout", "closed" (by the peer), or the code of a fatal error.
 * Exit status 0 when all were answered without an error, 1 otherwise, 2 for wrong usage. --garbage leaves the padding
 * of the structure as it is.
 */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

struct client {
  int socket;
  int leave_garbage;
  struct receiver receiver;
  uint32_t seq; /* of the last frame sent */
  uint32_t timestamp_offset;
  uint32_t asked_seq, asked_timestamp; /* the outstanding PING */
  int waiting;
  long sent, answered, errors;
  int goaway; /* reason, -1: none */
  const char *end;
};

static uint32_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

/* Sends the memory of the natural structure, as a program would that knows no other way. */
static void send_frame(struct client *client, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  struct hb1_frame frame;
  hb1_fill(&frame, flags, seq, timestamp);
  if (client->leave_garbage) memset((uint8_t *)&frame + 14, 0xa5, 2);
  for (size_t done = 0; done < sizeof frame && client->end == NULL;) {
    ssize_t count = send(client->socket, (const uint8_t *)&frame + done, sizeof frame - done, MSG_NOSIGNAL);
    if (count > 0)
      done += (size_t)count;
    else if (errno != EINTR)
      client->end = "closed";
  }
}

static void receive_frame(void *context, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  struct client *client = context;
  if (flags & HB1_ACK) {
    if (client->waiting && seq == client->asked_seq && timestamp == client->asked_timestamp) {
      client->waiting = 0;
      client->answered++;
    } else {
      client->errors++;
    }
    return;
  }
  if (flags & HB1_GOAWAY) client->goaway = flags & HB1_PARAM ? (int)(timestamp >> 16 & 0xff) : HB1_REASON_UNSPECIFIED;
  if (flags & HB1_ACK_REQUEST) send_frame(client, HB1_ACK, seq, timestamp);
}

/* Read once, waiting at most until `deadline`. */
static void read_some(struct client *client, uint32_t deadline) {
  int32_t left = (int32_t)(deadline - clock_ms()); /* serial arithmetic: the clock may wrap */
  struct pollfd polled = {.fd = client->socket, .events = POLLIN};
  int ready = left > 0 ? poll(&polled, 1, left) : 0;
  if (ready < 0 && errno != EINTR) die("poll");
  if (ready == 0) client->end = "timeout";
  if (ready <= 0) return;
  ssize_t count = recv(client->socket, receiver_room(&client->receiver), CHUNK_BYTES, 0);
  if (count <= 0) {
    client->end = "closed";
    return;
  }
  const char *fatal = receiver_take(&client->receiver, (size_t)count, receive_frame, client);
  if (fatal) client->end = fatal;
}

static void run(struct client *client, long pings, uint32_t timeout_ms) {
  while (client->end == NULL && client->sent < pings) {
    client->asked_seq = ++client->seq;
    client->asked_timestamp = clock_ms() + client->timestamp_offset;
    client->waiting = 1;
    client->sent++;
    send_frame(client, HB1_ACK_REQUEST, client->asked_seq, client->asked_timestamp);
    uint32_t deadline = clock_ms() + timeout_ms;
    while (client->waiting && client->end == NULL) read_some(client, deadline);
  }
  if (client->end == NULL) client->end = "done";
}

static void seed(struct client *client) {
  FILE *source = fopen("/dev/urandom", "rb");
  if (source == NULL || fread(&client->seq, sizeof client->seq, 1, source) != 1 ||
      fread(&client->timestamp_offset, sizeof client->timestamp_offset, 1, source) != 1)
    die("/dev/urandom");
  fclose(source);
}

static int report(const struct client *client, long pings) {
  printf("{\"sent\": %ld, \"answered\": %ld, \"errors\": %ld, ", client->sent, client->answered, client->errors);
  if (client->goaway < 0)
    printf("\"goaway\": null, ");
  else
    printf("\"goaway\": %d, ", client->goaway);
  printf("\"end\": \"%s\"}\n", client->end);
  return client->answered == pings && client->errors == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
  struct client client = {.goaway = -1};
  const char *host = "127.0.0.1";
  long port = 0, pings = 5, timeout_ms = 1000;
  for (int at = 1; at < count; at++) {
    const char *option = arguments[at], *value = arguments[at + 1];
    if (strcmp(option, "--garbage") == 0) {
      client.leave_garbage = 1;
      continue;
    }
    at++;
    if (strcmp(option, "--host") == 0 && value)
      host = value;
    else if (strcmp(option, "--port") == 0)
      port = number_in(option, value, 1, 65535);
    else if (strcmp(option, "--count") == 0)
      pings = number_in(option, value, 1, 1000000000);
    else if (strcmp(option, "--timeout-ms") == 0)
      timeout_ms = number_in(option, value, 1, 3600000);
    else
      port = -1;
    if (port < 0) break;
  }
  if (port <= 0) {
    fprintf(stderr, "usage: %s [--host A] --port N [--count N] [--timeout-ms N] [--garbage]\n", arguments[0]);
    return 2;
  }
  struct sockaddr_in address = address_of(host, port);
  client.socket = socket(AF_INET, SOCK_STREAM, 0);
  if (client.socket < 0 || connect(client.socket, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
  send_at_once(client.socket);
  receiver_begin(&client.receiver);
  seed(&client);
  run(&client, pings, (uint32_t)timeout_ms);
  close(client.socket);
  return report(&client, pings);
}
