#!/usr/bin/env node
// A partner of a weighted vote (DPWeVote in the local model: variants "joint" and "printed"), as docs/wire.md has it:
//
//     node party.js INVITATION JOURNAL [--key FILE] [--budget EPSILON] [--address HOST:PORT] weight=2 merger=yes
//
// The law is k-RR of the weight's group and of each opinion, drawn in integers from the operating system's entropy. The
// loss is replace-one and local: epsilon_weight for each report of a weight, epsilon_opinion for each of an opinion.
// JOURNAL is a folder, one for a person over all sessions: what they have reserved counts against --budget for good. A
// record there is whole and on the disk before anything that follows from it leaves, and none takes another's place: a
// restart, or a second process, sends the same bytes, and nothing is drawn again.
'use strict'
const crypto = require('node:crypto')
const { once } = require('node:events')
const fs = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')
const tls = require('node:tls')
const { isDeepStrictEqual, parseArgs } = require('node:util')

const [VERSION, MOST_BYTES] = [10, 1 << 20] // of the wire; of a message
const [HELLO, WELCOME, REQUEST, REPORT, RELEASE, ABORT, ACKNOWLEDGEMENT] = [1, 2, 3, 4, 5, 6, 9]
const [ANSWER_MS, PATIENCE_MS] = [30_000, 3_600_000] // before the server's first word, and between two
const OF_CERTIFICATES = /CERT|UNKNOWN_CA|SELF_SIGNED|UNABLE_TO/ // in a code of TLS: who tries again ends alike
const big = (number, width) => Buffer.from(number.toString(16).padStart(2 * width, '0'), 'hex') // big-endian
const refuse = (reason) => { throw new Error(reason) }

class Reader { // of MessagePack
  constructor(bytes) { Object.assign(this, { bytes, at: 0 }) }
  take(size) {
    if (this.at + size > this.bytes.length) refuse('the server sent part of a message')
    return this.bytes.subarray(this.at, this.at += size)
  }
  integer(width, kind = 'UInt') {
    const bytes = this.take(width)
    const value = width < 8 ? bytes[`read${kind}BE`](0, width) : bytes[`readBig${kind}64BE`]()
    return Number.isSafeInteger(Number(value)) ? Number(value) : value
  }
  list(size) { return Array.from({ length: size }, () => this.value()) }
  map(size) { return Object.fromEntries(Array.from({ length: size }, () => this.list(2))) }
  text(size) { return new TextDecoder('utf-8', { fatal: true }).decode(this.take(size)) }
  value() {
    const code = this.integer(1)
    if (code < 0x80 || code >= 0xe0) return code < 0x80 ? code : code - 256
    if (code < 0xa0) return code < 0x90 ? this.map(code & 0x0f) : this.list(code & 0x0f)
    if (code < 0xc0) return this.text(code & 0x1f)
    if (code === 0xc0) return null
    if (code === 0xc2 || code === 0xc3) return code === 0xc3
    if (code >= 0xc4 && code <= 0xc6) return this.take(this.integer(1 << (code - 0xc4)))
    if (code === 0xca || code === 0xcb) return code === 0xca ? this.take(4).readFloatBE() : this.take(8).readDoubleBE()
    if (code >= 0xcc && code <= 0xd3) return this.integer(1 << (code & 3), code < 0xd0 ? 'UInt' : 'Int')
    if (code >= 0xd9 && code <= 0xdb) return this.text(this.integer(1 << (code - 0xd9)))
    if (code === 0xdc || code === 0xde) return code === 0xdc ? this.list(this.integer(2)) : this.map(this.integer(2))
    return refuse('the server sent what is no message')
  }
  message() { // what each element is, and its bytes as they were heard
    const next = ({ at } = this) => ({ value: this.value(), raw: this.bytes.subarray(at, this.at) })
    const elements = Array.from({ length: this.integer(1) & 0x0f }, () => next())
    if (this.bytes[0] >> 4 !== 9 || this.at < this.bytes.length) refuse('the server sent what is no message')
    return elements
  }
}

function pack(value) { // as MessagePack, in as few bytes as can be
  const head = (size, short, most, ...formats) => {
    if (size < most) return Buffer.of(short | size)
    const [code, width] = formats.find(([, width]) => size < 256 ** width)
    return Buffer.concat([Buffer.of(code), big(size, width)])
  }
  if (value === null) return Buffer.of(0xc0)
  if (typeof value === 'boolean') return Buffer.of(value ? 0xc3 : 0xc2)
  if (typeof value === 'number') return head(value, 0, 128, [0xcc, 1], [0xcd, 2], [0xce, 4], [0xcf, 8])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(value.length, 0, 0, [0xc4, 1]), value])
  if (Array.isArray(value)) return Buffer.concat([head(value.length, 0x90, 16, [0xdc, 2]), ...value.map(pack)])
  if (value.raw) return value.raw
  const text = Buffer.from(value, 'utf8')
  return Buffer.concat([head(text.length, 0xa0, 32, [0xd9, 1], [0xda, 2]), text])
}

const framed = (body) => Buffer.concat([big(body.length, 4), body])

async function * framesOf(socket) {
  let rest = Buffer.alloc(0)
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, chunk])
    for (let end; rest.length >= 4 && rest.length >= (end = 4 + rest.readUInt32BE()); rest = rest.subarray(end)) {
      yield rest.subarray(4, end)
    }
    if (rest.length >= 4 && rest.readUInt32BE() > MOST_BYTES) refuse('the server sent too large a message')
  }
}

function digestOf(words, { version, parameters, descriptor, requests, release }) { // of what everybody was told
  const hash = crypto.createHash('sha256')
  for (const word of words) hash.update(big(Buffer.byteLength(word), 8)).update(word)
  hash.update(pack([WELCOME, version, { raw: parameters }, [], descriptor]))
  requests.forEach((payload, step) => hash.update(pack([REQUEST, step, { raw: payload }])))
  return hash.update(pack([RELEASE, { raw: release }, null, false])).digest('hex')
}

function exact(number) { // a double from 0 on, in units of 2**-1074
  const [bits] = new BigUint64Array(Float64Array.of(number).buffer)
  const [exponent, fraction] = [bits >> 52n, bits & ((1n << 52n) - 1n)]
  return exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction
}

function keepProbability(epsilon, choices) { // the double by which the server inverts; a multiple of 2**-64
  let [sum, term, x] = [0n, 1n << 320n, exact(epsilon) >> 754n] // e**-x by its series, in units of 2**-320
  for (let n = 1n; term; n++) [sum, term] = [sum + term, -term * x / (n << 320n)]
  const keep = Float64Array.of(1 / (1 + (choices - 1) * (Number(sum) / 2 ** 320)))
  new BigUint64Array(keep.buffer)[0] -= 4n // doubles, more than the rounding before: ln(p/q) <= epsilon
  return keep[0]
}

function below(bound, all = 1n << 64n) { // a uniform integer from 0 on
  const drawn = crypto.randomBytes(8).readBigUInt64BE()
  return drawn < all - all % bound ? drawn % bound : below(bound)
}

function respond(value, { epsilon, choices }) { // k-RR
  if (below(1n << 64n) < BigInt(keepProbability(epsilon, choices) * 2 ** 64)) return value
  const lie = Number(below(BigInt(choices - 1)))
  return lie + (lie >= value)
}

function stepsOf({ parameters: own, public: row }, answers) { // what the party reports in each, and by which law
  const foreign = ['weight_matrix', 'opinion_matrix', 'epsilons', 'weights_within', 'game'].find((name) => name in own)
  if (foreign || !['joint', 'printed'].includes(own.variant)) refuse(`cannot vote by ${foreign ?? own.variant}`)
  const opinions = own.candidates.map((name) => ['no', 'yes'].indexOf(answers[name]))
  if (opinions.includes(-1)) refuse(`say NAME=yes or NAME=no of each of ${own.candidates.join(', ')}`)
  const groups = own.groups.length ? own.groups : own.weights.map((weight) => [weight])
  const group = own.public_weights ? row[0] : groups.findIndex((group) => group.includes(Number(answers.weight)))
  if (group < 0) refuse(`say weight=W, one of ${own.weights.join(', ')}`)
  const half = own.public_weights ? own.epsilon : own.epsilon / 2
  const weight = { values: [group], choices: groups.length, epsilon: own.epsilon_weight ?? half, isPublished: true }
  const epsilon = own.epsilon_opinion ?? half
  const votes = (values) => ({ values, choices: 2, epsilon })
  if (own.weight_collection === 'per_candidate') return opinions.flatMap((opinion) => [weight, votes([opinion])])
  return own.public_weights ? [votes(opinions)] : [weight, votes(opinions)]
}

class Journal { // of a session: a file for each record
  constructor(folder, session) {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    Object.assign(this, { folder, file: (name) => `${folder}/${session}.${name}.json` })
  }
  find(name) { return fs.existsSync(this.file(name)) ? this.keep(name) : null } // it may not be durable as yet
  keep(name, record) { // returns the record of this name that is there, which may be another process's
    const sync = (handle) => { fs.fsyncSync(handle); fs.closeSync(handle) }
    if (record) {
      const draft = `${this.file(name)}.${crypto.randomBytes(8).toString('hex')}`
      const handle = fs.openSync(draft, 'wx', 0o600)
      fs.writeFileSync(handle, JSON.stringify(record))
      sync(handle)
      try { fs.linkSync(draft, this.file(name)) } catch (error) { if (error.code !== 'EEXIST') throw error }
      fs.unlinkSync(draft)
    }
    for (const folder of [this.folder, `${this.folder}/..`]) sync(fs.openSync(folder, 'r')) // each holds the next name
    return JSON.parse(fs.readFileSync(this.file(name), 'utf8'))
  }
  reserve(record, budget) {
    if (!isDeepStrictEqual(this.keep('reserved', record), record)) refuse('the journal has other terms of this session')
    const files = fs.readdirSync(this.folder).filter((name) => name.endsWith('.reserved.json'))
    const losses = files.flatMap((name) => JSON.parse(fs.readFileSync(`${this.folder}/${name}`, 'utf8')).losses)
    if (losses.reduce((sum, loss) => sum + exact(loss), 0n) <= exact(budget)) return
    if (!this.find(0)) fs.unlinkSync(this.file('reserved'))
    refuse("the party's privacy budget does not allow it")
  }
}

async function converse(socket, { own, steps, journal, budget }) { // returns what is kept of the release
  const given = steps.map((_, step) => journal.find(step)).filter(Boolean)
  const last = steps.map((_, step) => journal.find(`${step}.receipt`)).findLast(Boolean)
  const shown = last ? [ACKNOWLEDGEMENT, last.step, Buffer.from(last.receipt, 'hex')] : null
  const [words, descriptor] = [[own.session, own.protocol, own.kind], [own.session_id, own.roster, own.expires]]
  const send = (body) => socket.write(framed(body))
  send(pack([HELLO, VERSION, ...words, own.party, own.session_id, [], given.length, shown]))
  let parameters = null
  for await (const body of framesOf(socket)) {
    socket.setTimeout(PATIENCE_MS)
    const [{ value: tag }, ...fields] = new Reader(body).message()
    const [[first, second, third], request] = [fields.map((field) => field.value), body.toString('hex')]
    if (tag === ABORT) refuse(`the server has ended it: ${first}`, socket.end())
    if (tag === WELCOME && !parameters) {
      const agreed = [VERSION, own.parameters, own.public, descriptor]
      if (!isDeepStrictEqual(fields.map((field) => field.value), agreed)) refuse('these are not the terms agreed to')
      const losses = steps.flatMap(({ values, epsilon }) => values.map(() => epsilon))
      journal.reserve({ terms: [...words, own.party, own.parameters, own.public], losses }, budget)
      parameters = fields[1].raw
    } else if (tag === REQUEST && parameters && first < steps.length && [0, 1].includes(given.length - first)) {
      if (third || Boolean(second) !== Boolean(steps[first - 1]?.isPublished)) refuse('nobody announces such a request')
      const draw = () => pack([REPORT, first, steps[first].values.map((value) => respond(value, steps[first]))])
      given[first] ??= journal.keep(first, { request, report: draw().toString('hex') })
      if (given[first].request !== request) refuse('it has asked otherwise before')
      send(Buffer.from(given[first].report, 'hex'))
    } else if (tag === ACKNOWLEDGEMENT && parameters && first < given.length) {
      journal.keep(`${first}.receipt`, { step: first, receipt: second.toString('hex') })
    } else if (tag === RELEASE && parameters && given.length && !second && (third || given.length === steps.length)) {
      const requests = given.map((each) => new Reader(Buffer.from(each.request, 'hex')).message()[2].raw)
      const told = { version: VERSION, parameters, descriptor, requests, release: fields[0].raw }
      const digest = requests.length === steps.length ? digestOf(words, told) : null
      const left = journal.keep('left', { release: told.release.toString('hex'), digest, is_late: third === true })
      socket.end(framed(pack([ACKNOWLEDGEMENT, steps.length, Buffer.alloc(0)])))
      return left
    } else refuse('a message has no place here')
  }
}

async function takePart({ own, ...party }, { key, address = own.address }) {
  const identity = own.key || fs.readFileSync(key ?? refuse('give --key FILE'), 'utf8')
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? refuse('write --address as HOST:PORT')
  const { raw: agreed } = new crypto.X509Certificate(own.server)
  const checkServerIdentity = (_, { raw }) => (raw.equals(agreed) ? undefined : new Error('another CERTIFICATE'))
  const options = { host, port, key: identity, cert: identity, ca: own.server, checkServerIdentity }
  for (let pause = 200; ; pause = Math.min(2 * pause, 10_000)) {
    if (own.expires && Date.now() / 1000 > own.expires) refuse('the session has expired')
    const socket = tls.connect({ ...options, minVersion: 'TLSv1.3', timeout: ANSWER_MS })
    let loss = null
    socket.on('error', (error) => { loss = error })
    socket.on('timeout', () => socket.destroy(new Error('the server says nothing')))
    try {
      await once(socket, 'secureConnect') // what is written before could reach another server
      const left = await converse(socket, { own, ...party })
      if (left) return left
    } catch (error) {
      const reason = error.code ? 'the party failed' : error.message // a path of the journal is nobody's to know
      if (!loss && socket.writable) socket.end(framed(pack([ABORT, reason, '', 0, 0, [], 0])))
      if (!loss || OF_CERTIFICATES.test(`${loss.code} ${loss.message}`)) throw error
    }
    console.error(`trying again: ${loss?.message ?? 'the connection was lost'}`)
    await sleep(pause * (1 + Math.random()) / 2)
  }
}

async function main() {
  const options = { key: { type: 'string' }, budget: { type: 'string' }, address: { type: 'string' } }
  const { values: given, positionals: [file, folder, ...words] } = parseArgs({ options, allowPositionals: true })
  const own = JSON.parse(fs.readFileSync(file, 'utf8'))
  const isOurs = own.protocol === 'dpwevote' && own.kind === 'deployment' && /^[0-9a-f]{32}$/.test(own.session_id)
  if (!isOurs) refuse('INVITATION is to no deployment of dpwevote: name the file that you were sent')
  const [journal, budget] = [new Journal(folder, own.session_id), Number(given.budget ?? Infinity)]
  if (!(budget >= 0)) refuse('write a number behind --budget')
  const steps = stepsOf(own, Object.fromEntries(words.map((word) => word.split('='))))
  const left = journal.find('left') ?? await takePart({ own, steps, journal, budget }, given) // nobody is asked twice
  const { candidates } = new Reader(Buffer.from(left.release, 'hex')).value()
  const decisions = Object.fromEntries(candidates.map(({ name, verdict }) => [name, verdict.verdict]))
  console.log(JSON.stringify({ digest: left.digest, is_late: left.is_late, decisions }))
}

module.exports = { Reader, digestOf, keepProbability, respond }
const fail = ({ message }) => { console.error(`party.js: ${message}`); process.exitCode = 2 }
if (require.main === module) main().catch(fail)
