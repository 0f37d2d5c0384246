// MessagePack as docs/wire.md has it, on byte arrays, and the transcript's bytes.

export const WIRE_VERSION = 10
export const TAG = Object.freeze({
  hello: 1, welcome: 2, request: 3, report: 4, release: 5, abort: 6, acknowledgement: 9,
  challenge: 20, enrolment: 21, seat: 22,
})
const MAX_MESSAGE_BYTES = 1 << 20

/** The server sent what a party does not take, or refused the party. Nothing more is sent. */
export class Refusal extends Error {}

/** Stands for bytes that are MessagePack already. */
export class Raw {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes
  }
}

/**
 * An element of a message: what it is, and its bytes as they were heard.
 * @typedef {{ value: any, raw: Uint8Array }} Element
 */

class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.at = 0
  }

  /** @param {number} size @returns {number} where so many bytes begin, which are taken */
  take(size) {
    if (this.at + size > this.bytes.length) throw new Refusal('The server sent part of a message.')
    this.at += size
    return this.at - size
  }

  /** @param {number} width @returns {number} */
  unsigned(width) {
    const at = this.take(width)
    if (width === 1) return this.view.getUint8(at)
    if (width === 2) return this.view.getUint16(at)
    return width === 4 ? this.view.getUint32(at) : Number(this.view.getBigUint64(at))
  }

  /** @param {number} width @returns {number} */
  signed(width) {
    const at = this.take(width)
    if (width === 1) return this.view.getInt8(at)
    if (width === 2) return this.view.getInt16(at)
    return width === 4 ? this.view.getInt32(at) : Number(this.view.getBigInt64(at))
  }

  /** @param {number} size @returns {Uint8Array} */
  binary(size) {
    const at = this.take(size)
    return this.bytes.slice(at, at + size)
  }

  /** @param {number} size @returns {string} */
  text(size) {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.binary(size))
  }

  /** @param {number} size @returns {any[]} */
  list(size) {
    const values = []
    for (let count = 0; count < size; count++) values.push(this.value())
    return values
  }

  /** @param {number} size @returns {Record<string, any>} */
  map(size) {
    const entries = []
    for (let count = 0; count < size; count++) entries.push(this.list(2))
    return Object.fromEntries(entries)
  }

  /** @returns {any} */
  value() {
    const code = this.unsigned(1)
    if (code < 0x80 || code >= 0xe0) return code < 0x80 ? code : code - 256
    if (code < 0x90) return this.map(code & 0x0f)
    if (code < 0xa0) return this.list(code & 0x0f)
    if (code < 0xc0) return this.text(code & 0x1f)
    switch (code) {
      case 0xc0: return null
      case 0xc2: return false
      case 0xc3: return true
      case 0xc4: case 0xc5: case 0xc6: return this.binary(this.unsigned(1 << (code - 0xc4)))
      case 0xca: return this.view.getFloat32(this.take(4))
      case 0xcb: return this.view.getFloat64(this.take(8))
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.unsigned(1 << (code - 0xcc))
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return this.signed(1 << (code - 0xd0))
      case 0xd9: case 0xda: case 0xdb: return this.text(this.unsigned(1 << (code - 0xd9)))
      case 0xdc: case 0xdd: return this.list(this.unsigned(code === 0xdc ? 2 : 4))
      case 0xde: case 0xdf: return this.map(this.unsigned(code === 0xde ? 2 : 4))
      default: throw new Refusal('The server sent what is no message.')
    }
  }
}

/**
 * Read a message.
 * @param {Uint8Array} bytes
 * @returns {Element[]} its elements, the tag first
 * @throws {Refusal} it is none
 */
export function readMessage(bytes) {
  if (bytes.length > MAX_MESSAGE_BYTES) throw new Refusal('The server sent too large a message.')
  if ((bytes[0] ?? 0) >> 4 !== 9) throw new Refusal('The server sent what is no message.')
  const reader = new Reader(bytes)
  const elements = []
  try {
    for (let count = reader.unsigned(1) & 0x0f; count > 0; count--) {
      const start = reader.at
      elements.push({ value: reader.value(), raw: bytes.slice(start, reader.at) })
    }
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal('The server sent what is no message.') // no UTF-8, or nested without end
  }
  if (reader.at < bytes.length || !elements.length) throw new Refusal('The server sent what is no message.')
  return elements
}

/** @param {Uint8Array} bytes @returns {any} what MessagePack says there */
export const readValue = (bytes) => new Reader(bytes).value()

/** @param {Uint8Array[]} parts @returns {Uint8Array} */
export function concatenate(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** @param {number} number from 0 @param {number} width @returns {Uint8Array} big-endian */
export function bigEndian(number, width) {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number))
  return bytes.slice(8 - width)
}

/** @param {string} text @returns {Uint8Array} */
export const utf8 = (text) => new TextEncoder().encode(text)

/**
 * Write a value as MessagePack in its shortest form.
 * @param {null|boolean|number|string|Uint8Array|Raw|any[]} value a number is an integer from 0
 * @returns {Uint8Array}
 */
export function pack(value) {
  if (value === null) return Uint8Array.of(0xc0)
  if (typeof value === 'boolean') return Uint8Array.of(value ? 0xc3 : 0xc2)
  if (typeof value === 'number') return header(value, 0, 128, [[0xcc, 1], [0xcd, 2], [0xce, 4], [0xcf, 8]])
  if (value instanceof Raw) return value.bytes
  if (value instanceof Uint8Array) return concatenate(header(value.length, 0, 0, [[0xc4, 1], [0xc5, 2], [0xc6, 4]]), value)
  if (Array.isArray(value)) return concatenate(header(value.length, 0x90, 16, [[0xdc, 2]]), ...value.map(pack))
  const text = utf8(value)
  return concatenate(header(text.length, 0xa0, 32, [[0xd9, 1], [0xda, 2]]), text)
}

/** @param {number} size @param {number} short @param {number} most @param {number[][]} formats @returns {Uint8Array} */
function header(size, short, most, formats) {
  if (size < most) return Uint8Array.of(short | size)
  for (const [code, width] of formats) {
    if (size < 256 ** width) return concatenate(Uint8Array.of(code), bigEndian(size, width))
  }
  throw new RangeError('there is no format for so much')
}

/**
 * Write a report's integers, each in as many bytes as the widest of the range, so that sizes tell nothing.
 * @param {number[]} values each in [low, high]
 * @param {number} low
 * @param {number} high within 32 bits
 * @returns {Uint8Array}
 */
export function packRow(values, low, high) {
  const width = low >= -32 && high < 128 ? 0 : low >= -128 && high < 256 ? 1 : low >= -32768 && high < 65536 ? 2 : 4
  const formats = values.map((value) => {
    if (!(value >= low && value <= high && Number.isInteger(value))) throw new RangeError('a value is out of its range')
    const unsigned = value < 0 ? value + 256 ** (width || 1) : value
    const code = (value < 0 ? 0xd0 : 0xcc) + Math.log2(width)
    return width ? concatenate(Uint8Array.of(code), bigEndian(unsigned, width)) : Uint8Array.of(unsigned)
  })
  return concatenate(header(values.length, 0x90, 16, [[0xdc, 2]]), ...formats)
}

/** @param {BigInt64Array} values @returns {Uint8Array} residues modulo 2⁶⁴ as a report has them, each in 9 bytes */
export function packResidues(values) {
  const formats = Array.from(values, (value) => {
    const bytes = new DataView(new ArrayBuffer(9))
    bytes.setUint8(0, value < 0n ? 0xd3 : 0xcf)
    bytes.setBigInt64(1, value)
    return new Uint8Array(bytes.buffer)
  })
  return concatenate(header(values.length, 0x90, 16, [[0xdc, 2]]), ...formats)
}

/**
 * Return the bytes whose SHA-256 is the transcript's digest: what the server tells everybody.
 * @param {string[]} words session, protocol and kind
 * @param {{ parameters: Uint8Array, descriptor: any[], requests: Uint8Array[], release: Uint8Array }} heard parameters,
 *   payload of each request, by its step, and of the release: bytes as heard
 * @returns {Uint8Array}
 */
export function transcriptOf(words, { parameters, descriptor, requests, release }) {
  const prefixes = words.map(utf8).flatMap((word) => [bigEndian(word.length, 8), word])
  return concatenate(
    ...prefixes,
    pack([TAG.welcome, WIRE_VERSION, new Raw(parameters), [], descriptor]),
    ...requests.flatMap((payload, step) => [pack([TAG.request, step, new Raw(payload)])]), // of a gap nothing
    pack([TAG.release, new Raw(release), null, false]),
  )
}

/** @param {any} one @param {any} other @returns {boolean} whether plain values are equal, 1 and 1.0 among them */
export function isEqual(one, other) {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    return one.length === other.length && one.every((byte, at) => byte === other[at])
  }
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  return names.length === Object.keys(other).length
    && names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
}

/** @param {Uint8Array} bytes @returns {string} */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** @param {Uint8Array} bytes @returns {string} base64url without padding */
export function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** @param {string} text base64url without padding @returns {Uint8Array} */
export function fromBase64(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0))
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {BufferSource} */ (bytes)))
}
