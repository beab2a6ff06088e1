/*
 * HB1 in one header: constants, checksum, encode, decode. From sections 1 and 2 of spec/HB1.md and nothing else.
 *
 * Plain C11, no allocation, no hidden state. No byte order is asked for: numbers are put together from bytes by
 * shifts, which a compiler for a little-endian machine turns into plain moves. Names are the specification's, behind
 * HB1_ or hb1_. All functions take and give numbers in the machine's own order.
 */
#ifndef HB1_H
#define HB1_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HB1_FRAME_BYTES = 16, HB1_MAGIC_0 = 0x48, HB1_MAGIC_1 = 0x42, HB1_VERSION = 1 };

/* Section 2.1. Bit 7 is cleared before any test. */
enum {
  HB1_ACK_REQUEST = 0x01,
  HB1_RETRANSMIT = 0x02,
  HB1_ACK = 0x04,
  HB1_PROBE = 0x08,
  HB1_DEGRADED = 0x10,
  HB1_GOAWAY = 0x20,
  HB1_PARAM = 0x40,
  HB1_FLAGS_MASK = 0x7f
};

/* Section 2.4: bits 24 to 31 of the parameter word; the value is in bits 0 to 23. */
enum {
  HB1_DESIRED_MIN_TX = 1,
  HB1_REQUIRED_MIN_RX = 2,
  HB1_DETECT_MULT = 3,
  HB1_POLL = 4,
  HB1_FINAL = 5,
  HB1_LOOP_LAG = 6,
  HB1_GOAWAY_INFO = 7,
  HB1_REFUSE = 8
};

/* Section 2.5: bits 16 to 23 of GOAWAY_INFO. Bits 0 to 15 say when to return, in units of 100 ms. */
enum {
  HB1_REASON_UNSPECIFIED = 0,
  HB1_REASON_LEAVING = 1,
  HB1_REASON_TOO_FAST = 2,
  HB1_REASON_OVERLOADED = 3,
  HB1_REASON_PARAMETERS_REFUSED = 4,
  HB1_REASON_PROTOCOL_ERROR = 5,
  HB1_REASON_ROTATE = 6,
  HB1_REASON_BUSINESS_HUNG = 7,
  HB1_REASON_VERSION = 8
};

/* Section 4.2: what a heartbeat-only receiver may skip, and what each good frame pays back. */
enum { HB1_RESYNC_BUDGET_BYTES = 1024, HB1_RESYNC_REPAY_BYTES = 16 };

/* Verdicts of hb1_decode, in the order of the checks. */
enum hb1_code {
  HB1_GOOD,
  HB1_ERR_LENGTH,
  HB1_ERR_MAGIC,
  HB1_ERR_CRC,
  HB1_ERR_VERSION,
  HB1_ERR_RESERVED,
  HB1_ERR_FLAGS
};

enum hb1_reserved { HB1_RESERVED_STRICT, HB1_RESERVED_IGNORE };

/*
 * The natural structure. Its fields end at byte 14; the compiler pads it to 16, and those two bytes are the reserved
 * field. A program may send its memory as it is, if hb1_fill has filled it: numbers little-endian, padding zero.
 */
struct hb1_frame {
  uint8_t magic[2];
  uint8_t version;
  uint8_t flags;
  uint32_t seq;
  uint32_t timestamp;
  uint16_t crc;
};

_Static_assert(sizeof(struct hb1_frame) == HB1_FRAME_BYTES, "tail padding must make a frame of 16 bytes");
_Static_assert(offsetof(struct hb1_frame, seq) == 4 && offsetof(struct hb1_frame, timestamp) == 8 &&
                   offsetof(struct hb1_frame, crc) == 12,
               "no padding but at the end");

/* ---- little-endian numbers on any machine ---- */

static inline void hb1_put16(uint8_t *to, uint16_t value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}

static inline void hb1_put32(uint8_t *to, uint32_t value) {
  hb1_put16(to, (uint16_t)value);
  hb1_put16(to + 2, (uint16_t)(value >> 16));
}

static inline uint16_t hb1_get16(const uint8_t *from) { return (uint16_t)(from[0] | from[1] << 8); }

static inline uint32_t hb1_get32(const uint8_t *from) {
  return hb1_get16(from) | (uint32_t)hb1_get16(from + 2) << 16;
}

/* ---- checksum: CRC-16/IBM-3740 ---- */

/*
 * The small one: no table, no loop over bits. Feeding a byte shifts the upper half of the crc, mixed with the byte,
 * out of the register: x. The polynomial x^16 + x^12 + x^5 + 1 returns it at three places. What the place at 12
 * pushes over the top comes round a second time, which is what x ^= x >> 4 puts in beforehand.
 */
static inline uint16_t hb1_crc(const uint8_t *bytes, size_t count) {
  uint32_t crc = 0xffff;
  for (size_t at = 0; at < count; at++) {
    uint32_t x = crc >> 8 ^ bytes[at];
    x ^= x >> 4;
    crc = (crc << 8 ^ x << 12 ^ x << 5 ^ x) & 0xffff;
  }
  return (uint16_t)crc;
}

/* The fast one, for who checks millions: four bytes a step from tables of 2 KB, which belong to the caller. */
struct hb1_crc_tables {
  uint16_t at[4][256]; /* at[k][b]: what byte b leaves behind when k zero bytes follow it */
};

static inline void hb1_crc_prepare(struct hb1_crc_tables *tables) {
  for (unsigned byte = 0; byte < 256; byte++) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; bit++) crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
    tables->at[0][byte] = (uint16_t)crc;
  }
  for (int zeros = 1; zeros < 4; zeros++)
    for (unsigned byte = 0; byte < 256; byte++) {
      unsigned crc = tables->at[zeros - 1][byte];
      tables->at[zeros][byte] = (uint16_t)((crc << 8 & 0xffff) ^ tables->at[0][crc >> 8]);
    }
}

static inline uint16_t hb1_crc_slicing(const struct hb1_crc_tables *tables, const uint8_t *bytes, size_t count) {
  unsigned crc = 0xffff;
  size_t at = 0;
  for (; count - at >= 4; at += 4)
    crc = tables->at[3][bytes[at] ^ crc >> 8] ^ tables->at[2][bytes[at + 1] ^ (crc & 0xff)] ^
          tables->at[1][bytes[at + 2]] ^ tables->at[0][bytes[at + 3]];
  for (; at < count; at++) crc = (crc << 8 & 0xffff) ^ tables->at[0][crc >> 8 ^ bytes[at]];
  return (uint16_t)crc;
}

/* ---- legal combinations: section 2.2 ---- */

static inline int hb1_has_only(unsigned flags, unsigned must, unsigned may) {
  return (flags & must) == must && (flags & ~(must | may)) == 0;
}

/* Whether some frame may have these flags; `id` is the parameter id, wire byte 11. Bit 7 is not looked at. */
static inline int hb1_legal(unsigned flags, unsigned id) {
  const unsigned common = HB1_DEGRADED | HB1_RETRANSMIT;
  flags &= HB1_FLAGS_MASK;
  if (flags & HB1_PARAM) /* [K-3]: GOAWAY if and only if the word is GOAWAY_INFO */
    return hb1_has_only(flags, HB1_PARAM | (id == HB1_GOAWAY_INFO ? HB1_GOAWAY : 0u), common);
  return hb1_has_only(flags, 0, common) ||                                                  /* BEAT */
         hb1_has_only(flags, HB1_ACK_REQUEST, common | HB1_PROBE | HB1_GOAWAY) ||           /* PING */
         hb1_has_only(flags, HB1_ACK, HB1_PROBE | HB1_DEGRADED) ||                          /* PONG */
         hb1_has_only(flags, HB1_GOAWAY, common);                                           /* GOAWAY */
}

/* ---- writing ---- */

/* A frame as sixteen bytes, from its three fields. The caller answers for a legal combination. */
static inline void hb1_encode(uint8_t *to, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  to[0] = HB1_MAGIC_0;
  to[1] = HB1_MAGIC_1;
  to[2] = HB1_VERSION;
  to[3] = flags;
  hb1_put32(to + 4, seq);
  hb1_put32(to + 8, timestamp);
  hb1_put16(to + 12, hb1_crc(to, 12));
  hb1_put16(to + 14, 0);
}

/*
 * The same into the natural structure, so that its memory is the frame. The padding is zeroed last: a compiler is free
 * to store anything there together with a field.
 */
static inline void hb1_fill(struct hb1_frame *frame, uint8_t flags, uint32_t seq, uint32_t timestamp) {
  frame->magic[0] = HB1_MAGIC_0;
  frame->magic[1] = HB1_MAGIC_1;
  frame->version = HB1_VERSION;
  frame->flags = flags;
  hb1_put32((uint8_t *)&frame->seq, seq);
  hb1_put32((uint8_t *)&frame->timestamp, timestamp);
  hb1_put16((uint8_t *)&frame->crc, hb1_crc((const uint8_t *)frame, offsetof(struct hb1_frame, crc)));
  memset((uint8_t *)frame + 14, 0, 2);
}

/* ---- reading ---- */

/*
 * [F-8]: the checks in this exact order, the first that fails is the verdict. Only when it is HB1_GOOD are the fields
 * set, flags without bit 7. `length` bytes are there; those behind the sixteenth are not looked at.
 */
static inline enum hb1_code hb1_decode(const uint8_t *bytes, size_t length, enum hb1_reserved reserved,
                                       uint8_t *flags, uint32_t *seq, uint32_t *timestamp) {
  if (length < HB1_FRAME_BYTES) return HB1_ERR_LENGTH;
  if (bytes[0] != HB1_MAGIC_0 || bytes[1] != HB1_MAGIC_1) return HB1_ERR_MAGIC;
  if (hb1_crc(bytes, 12) != hb1_get16(bytes + 12)) return HB1_ERR_CRC;
  if (bytes[2] != HB1_VERSION) return HB1_ERR_VERSION;
  if (reserved == HB1_RESERVED_STRICT && hb1_get16(bytes + 14) != 0) return HB1_ERR_RESERVED;
  if (!hb1_legal(bytes[3], bytes[11])) return HB1_ERR_FLAGS;
  *flags = bytes[3] & HB1_FLAGS_MASK;
  *seq = hb1_get32(bytes + 4);
  *timestamp = hb1_get32(bytes + 8);
  return HB1_GOOD;
}

static inline const char *hb1_code_name(enum hb1_code code) {
  static const char *const names[] = {"good",           "HB_ERR_LENGTH",   "HB_ERR_MAGIC", "HB_ERR_CRC",
                                      "HB_ERR_VERSION", "HB_ERR_RESERVED", "HB_ERR_FLAGS"};
  return names[code];
}

#endif
