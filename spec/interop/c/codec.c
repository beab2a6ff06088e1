/*
 * hb1.h as a filter, to be compared with other implementations.
 *
 *   codec decode [ignore]   a line of hex in; out the line "flags seq timestamp", or the code. ignore: the reserved
 *                           bytes are not checked
 *   codec encode            nine bytes in (flags, seq, timestamp, little-endian); out the frame of sixteen
 *   codec transcode         a frame in; decoded, encoded from its fields, out again
 *   codec split N           a line of hex is a heartbeat-only stream, received N bytes at a time; out a line of its
 *                           frames as "flags:seq:timestamp", the code of a fatal error last, a full stop at the end
 *
 * Every frame is made twice, from bytes and by the natural structure, and its checksum twice, small and slicing. They
 * must agree, and a frame to be transcoded must be good; otherwise the program stops with status 1.
 */
#include "peer.h"

#include <ctype.h>
#include <inttypes.h>

enum { LINE_CHARACTERS = 65536 };

static struct hb1_crc_tables tables;
static char line[LINE_CHARACTERS];
static uint8_t bytes[LINE_CHARACTERS / 2];

static int fail(long index, const char *why) {
  fprintf(stderr, "frame %ld: %s\n", index, why);
  return 1;
}

static int put_frame(long index, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  uint8_t bytes[HB1_FRAME_BYTES];
  struct hb1_frame frame;
  memset(&frame, 0xa5, sizeof frame);
  hb1_encode(bytes, flags, seq, timestamp);
  hb1_fill(&frame, flags, seq, timestamp);
  if (memcmp(bytes, &frame, sizeof frame) != 0) return fail(index, "the structure differs from the bytes");
  /* All lengths, so that the slicing checksum is seen with a rest of one to three bytes too. */
  for (size_t count = 0; count <= sizeof bytes; count++)
    if (hb1_crc(bytes, count) != hb1_crc_slicing(&tables, bytes, count)) return fail(index, "two checksums");
  return fwrite(bytes, 1, sizeof bytes, stdout) == sizeof bytes ? 0 : fail(index, "cannot write");
}

static int encode(void) {
  uint8_t triple[9];
  for (long index = 0; fread(triple, sizeof triple, 1, stdin) == 1; index++)
    if (put_frame(index, triple[0], hb1_get32(triple + 1), hb1_get32(triple + 5))) return 1;
  return 0;
}

static int transcode(void) {
  uint8_t bytes[HB1_FRAME_BYTES], flags;
  uint32_t seq, timestamp;
  for (long index = 0; fread(bytes, sizeof bytes, 1, stdin) == 1; index++) {
    enum hb1_code code = hb1_decode(bytes, sizeof bytes, HB1_RESERVED_STRICT, &flags, &seq, &timestamp);
    if (code != HB1_GOOD) return fail(index, hb1_code_name(code));
    if (put_frame(index, flags, seq, timestamp)) return 1;
  }
  return 0;
}

/* The bytes of a line of hex, at most half as many; -1: it is none. */
static long read_hex(const char *line, uint8_t *bytes) {
  long count = 0;
  for (const char *at = line; isxdigit((unsigned char)at[0]) && isxdigit((unsigned char)at[1]); at += 2) {
    char digits[3] = {at[0], at[1], '\0'};
    bytes[count++] = (uint8_t)strtoul(digits, NULL, 16);
  }
  return line[2 * count] == '\n' ? count : -1;
}

static int decode(enum hb1_reserved reserved) {
  for (long index = 0; fgets(line, sizeof line, stdin); index++) {
    uint8_t flags;
    uint32_t seq, timestamp;
    long count = read_hex(line, bytes);
    if (count < 0) return fail(index, "a line of hex was expected");
    enum hb1_code code = hb1_decode(bytes, (size_t)count, reserved, &flags, &seq, &timestamp);
    if (code == HB1_GOOD)
      printf("%u %" PRIu32 " %" PRIu32 "\n", flags, seq, timestamp);
    else
      puts(hb1_code_name(code));
  }
  return 0;
}

static void print_frame(void *context, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  (void)context;
  printf("%u:%" PRIu32 ":%" PRIu32 " ", flags, seq, timestamp);
}

static int split(long step) {
  for (long index = 0; fgets(line, sizeof line, stdin); index++) {
    struct receiver receiver;
    const char *fatal = NULL;
    long count = read_hex(line, bytes);
    if (count < 0) return fail(index, "a line of hex was expected");
    receiver_begin(&receiver);
    for (long at = 0; at < count && fatal == NULL; at += step) {
      size_t chunk = (size_t)(count - at < step ? count - at : step);
      memcpy(receiver_room(&receiver), bytes + at, chunk);
      fatal = receiver_take(&receiver, chunk, print_frame, NULL);
    }
    if (fatal) printf("%s ", fatal);
    puts(".");
  }
  return 0;
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  hb1_crc_prepare(&tables);
  if (count == 2 && strcmp(what, "encode") == 0) return encode();
  if (count == 2 && strcmp(what, "transcode") == 0) return transcode();
  if (count == 2 && strcmp(what, "decode") == 0) return decode(HB1_RESERVED_STRICT);
  if (count == 3 && strcmp(what, "decode") == 0 && strcmp(arguments[2], "ignore") == 0)
    return decode(HB1_RESERVED_IGNORE);
  if (count == 3 && strcmp(what, "split") == 0) return split(number_in("N", arguments[2], 1, CHUNK_BYTES));
  fprintf(stderr, "usage: %s encode | transcode | decode [ignore] | split N\n", arguments[0]);
  return 2;
}
