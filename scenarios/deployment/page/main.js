// The ballot page: drives the party's machine over a WebSocket, with the journal, and shows where it stands.

import { Channel, ConnectionLost } from './channel.js'
import { Refusal, fromBase64, hex, isEqual, pack, sha256, TAG, toBase64, utf8 } from './codec.js'
import { Journal, StorageFault } from './journal.js'
import { MASKED, Party, SessionAborted, abort, readChallenge, readSeat, signedBytes } from './party.js'
import { WaitingScreen, confirmBallot, showProblem, showResult, showTerms } from './screens.js'
import { readTerms } from './systems.js'
import { foreign, paragraph, show } from './dom.js'
import { dateOf } from './words.js'

/** @typedef {import('./systems.js').Terms} Terms */
/** @typedef {import('./party.js').Seat} Seat */
/** @typedef {import('./party.js').Past} Past */
/** @typedef {import('./party.js').Secrets} Secrets */
/** @typedef {{ place: number, secret: Uint8Array, digest: string }} Link */

const CONNECT_SECONDS = 20
const ANSWER_SECONDS = 30
const SILENCE_SECONDS = 300 // then the connection is made anew: a page cannot see the server's pings
const MAX_PAUSE_SECONDS = 30
const SLEEP_SECONDS = 120 // a timer that is later by so much: the device was asleep; hidden tabs are late by 60

/** Something that the voter has to know, and that ends it here. */
class Problem extends Error {
  /** @param {string} heading @param {string} explanation @param {boolean} [isFinal] whether trying again cannot help */
  constructor(heading, explanation, isFinal = false) {
    super(explanation)
    this.heading = heading
    this.isFinal = isFinal
  }
}

/** @param {string} fragment @returns {Link} */
function readLink(fragment) {
  const match = /^#(\d{1,9})\.([\w-]{22})\.([\w-]{43})$/.exec(fragment)
  if (!match) {
    throw new Problem('Part of the link is missing', 'Please open the link that you were sent, from its beginning to '
      + 'its end. It is longer than what this page was opened with.', true)
  }
  return { place: Number(match[1]), secret: fromBase64(match[2]), digest: match[3] }
}

/** @param {Link} link @returns {Promise<[Terms, Uint8Array]>} the terms, and their digest */
async function fetchTerms(link) {
  let bytes
  try {
    const answer = await fetch('/session.json', { cache: 'no-store' })
    if (!answer.ok) throw new Error(String(answer.status))
    bytes = new Uint8Array(await answer.arrayBuffer())
  } catch {
    throw new Problem('The server does not answer', 'Please check the network, and try again. Nothing was sent.')
  }
  const digest = await sha256(bytes)
  if (toBase64(digest) !== link.digest) {
    throw new Problem('These are not the terms of your link', 'The server shows another vote than the one that your '
      + 'link was made for. Do not vote here. Please tell whoever sent you the link.', true)
  }
  const json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  const terms = await readTerms(json)
  if (json.trust === 'distributed') terms.masked = (await import('./masked.js')).readMasked(json)
  return [terms, digest]
}

/** @param {Map<string, any>} records @param {Terms} terms @returns {Past} */
function pastOf(records, terms) {
  const steps = terms.steps.map((_, step) => step)
  /** @param {string} name @returns {[number, any][]} */
  const find = (name) => {
    const kept = steps.filter((step) => records.has(`${name} ${step}`))
    return kept.map((step) => [step, records.get(`${name} ${step}`)])
  }
  /** @type {Past} */
  const past = { reports: records.get('reports'), requests: [], receipts: new Map(find('receipt')) }
  find('request').forEach(([step, request]) => { past.requests[step] = request })
  find('answer').forEach(([step, answer]) => { [past.requests[step], past.reports[step]] = answer })
  return past
}

class Page {
  /** @type {Channel|null} */
  channel = null
  wake = () => this.channel?.close()

  /** @param {Link} link @param {Terms} terms @param {Uint8Array} digest of the terms @param {Journal} journal */
  constructor(link, terms, digest, journal) {
    this.link = link
    this.terms = terms
    this.digest = digest
    this.journal = journal
  }

  /** @returns {Promise<void>} */
  async run() {
    const records = await this.journal.records()
    if (records.has('reserved') && !isEqual(records.get('reserved').terms, this.digest)) {
      throw new Problem('These are not the terms of your ballot', 'This device has made its ballot for other terms. Do '
        + 'not go on here. Please tell whoever sent you the link.', true)
    }
    if (records.has('release') || records.has('left')) await this.forgetSecrets()
    if (records.has('release')) {
      this.showResult(records)
      return
    }
    if (records.has('left')) throw new Problem('This device has left', records.get('left'), true)
    await this.terms.masked?.checkBrowser()
    this.checkTime()
    if (!records.has('reports')) await this.vote(records)
    await this.takePart()
    this.showResult(await this.journal.records())
  }

  /** Forget what a masked vote needed, and nothing needs any more. */
  async forgetSecrets() {
    await this.journal.forget('row')
    await this.journal.forget('root', 'keys')
  }

  /** @param {Map<string, any>} records */
  showResult(records) {
    showResult(this.terms, records.get('seat'), pastOf(records, this.terms), records.get('release'), this.digest)
  }

  checkTime() {
    const until = this.terms.descriptor[2]
    if (until && Date.now() / 1000 > until) {
      const { session } = this.terms.system.phrases
      throw new Problem(`The ${session} has ended`, `It ended on ${dateOf(until)}. By this device's clock it is now `
        + `${dateOf(Date.now() / 1000)}. If the clock is wrong, set it right and open the link again.`)
    }
  }

  /** Ask the voter, and draw and keep the reports. @param {Map<string, any>} records */
  async vote(records) {
    if (!records.has('seat')) {
      await showTerms(this.terms, this.digest)
      await this.enrol()
    }
    const seat = (await this.journal.records()).get('seat')
    if (records.has('row')) { // cast before this page was closed
      await this.journal.keep('reports', [])
      return
    }
    const { system } = this.terms
    /** @type {any} */
    let ballot = null
    do {
      ballot = await system.askBallot(this.terms, seat, ballot)
    } while (!(await confirmBallot(this.terms, seat, ballot)))
    this.checkTime()
    await this.keepEqual('reserved', { terms: this.digest, losses: this.terms.epsilon })
    const { masked } = this.terms
    if (masked) {
      await this.journal.keep('root', await masked.makeRoot(), 'keys')
      await this.journal.keep('row', masked.drawRow(ballot.weight ?? seat.row[1], ballot.opinions))
    }
    await this.journal.keep('reports', masked ? [] : system.draw(this.terms, seat, ballot)) // those are made when asked
    navigator.storage.persist().catch(() => false) // a question to the voter in Firefox: its answer decides nothing
  }

  /** Come to the server for the first time, to hear whose ballot this is. */
  async enrol() {
    show('enrolment', '', 'Connecting …', paragraph('This device shows the server your link.'))
    const channel = await this.connect()
    try {
      await this.journal.keep('seat', await this.greet(channel))
    } finally {
      channel.close()
    }
  }

  /** @returns {Promise<Channel>} */
  connect() {
    return Channel.open(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/session`, CONNECT_SECONDS)
  }

  /**
   * Show that a channel is the party's, by its key.
   * @param {Channel} channel
   * @returns {Promise<Seat>}
   */
  async greet(channel) {
    const pair = await this.journal.key('Ed25519') ?? await this.journal.keep('Ed25519', await makeKey(), 'keys')
    const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
    const nonce = readChallenge(await channel.receive(ANSWER_SECONDS))
    const { place, secret } = this.link // which the server asks for again where the link is a new one
    const signed = signedBytes({ nonce, terms: this.digest, place, origin: await sha256(utf8(location.origin)) })
    const signature = await crypto.subtle.sign('Ed25519', pair.privateKey, /** @type {BufferSource} */ (signed))
    channel.send(pack([TAG.enrolment, place, publicKey, secret, new Uint8Array(signature)]))
    return readSeat(await channel.receive(ANSWER_SECONDS), place)
  }

  /** @param {Map<string, any>} records @returns {Promise<Secrets|null>} what a masked vote needs */
  async secrets(records) {
    if (!this.terms.masked) return null
    const [pair, root] = [await this.journal.key('Ed25519'), await this.journal.key('root')]
    if (!pair || !root) throw new StorageFault(null)
    const key = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
    /** @param {Uint8Array} message */
    const sign = async (message) =>
      new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, /** @type {BufferSource} */ (message)))
    return { root, key, sign, row: records.get('row') ?? null }
  }

  /** Take part until the release is kept; a lost connection is made again. */
  async takePart() {
    const records = await this.journal.records()
    const screen = new WaitingScreen(this.terms, records.get('seat'), () => this.wake())
    screen.update(pastOf(records, this.terms), false)
    for (let pause = 1; ; pause = Math.min(2 * pause, MAX_PAUSE_SECONDS)) {
      this.checkTime()
      screen.setConnection('connecting')
      try {
        await this.converse(screen, () => { pause = 0.5 })
        return
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
      await this.rest(pause * (0.75 + Math.random() / 2), screen)
    }
  }

  /** @param {number} seconds @param {WaitingScreen} screen */
  async rest(seconds, screen) {
    const end = performance.now() + 1000 * seconds
    let isWoken = false
    this.wake = () => { isWoken = true }
    for (let left = seconds; left > 0 && !isWoken; left = (end - performance.now()) / 1000) {
      screen.setConnection('lost', left)
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.min(1000, 1000 * left))
        this.wake = () => {
          isWoken = true
          clearTimeout(timer)
          resolve(undefined)
        }
      })
    }
    this.wake = () => this.channel?.close()
  }

  /**
   * Hold one conversation with the server.
   * @param {WaitingScreen} screen
   * @param {() => void} onWelcome
   * @throws {ConnectionLost}
   * @throws {Refusal} the server is at fault, or has ended the session
   */
  async converse(screen, onWelcome) {
    const records = await this.journal.records() // what is durable, and nothing else
    const party = new Party(this.terms, records.get('seat'), pastOf(records, this.terms), await this.secrets(records))
    const channel = this.channel = await this.connect()
    try {
      const seat = await this.greet(channel)
      if (!isEqual(seat, party.seat)) throw new Refusal('The server holds another roster than before.')
      if (this.terms.masked) screen.setConnection('open') // the others' links may not be opened yet
      channel.send(party.hello())
      for (;;) {
        const effects = await party.receive(await channel.receive(SILENCE_SECONDS))
        onWelcome()
        let isReleased = false
        for (const effect of effects) {
          if ('send' in effect) channel.send(effect.send)
          else if ('keep' in effect) {
            await this.keepEqual(effect.keep, effect.value)
            if (effect.keep === `answer ${MASKED}`) await this.journal.forget('row') // which has no other use
          } else {
            const { release, own, isLate, heard } = effect
            const digest = heard ? hex(await sha256(heard)) : ''
            await this.keepEqual('release', { release, own, isLate, digest, roster: party.descriptor[1] })
            await this.forgetSecrets()
            isReleased = true
          }
        }
        if (isReleased) return
        screen.setConnection('open')
        screen.update(party.past, true)
      }
    } catch (error) {
      if (error instanceof Refusal && !(error instanceof SessionAborted)) {
        if (this.terms.masked && party.parameters) { // for good: what this lie has not opened, another one might
          await this.journal.keep('left', error.message)
          await this.forgetSecrets()
        }
        channel.send(abort(error.message))
      }
      throw error
    } finally {
      this.channel = null
      channel.close()
    }
  }

  /** @param {string} name @param {any} value */
  async keepEqual(name, value) {
    const kept = await this.journal.keep(name, value)
    if (!isEqual(kept, value)) throw new Refusal('Another copy of this page has heard something else.')
  }
}

/** @returns {Promise<CryptoKeyPair>} of which the private key does not leave the browser */
async function makeKey() {
  try {
    return /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']))
  } catch {
    throw new Problem('This browser is too old', 'It cannot sign by Ed25519. Please open the link in a current version '
      + 'of Firefox, Chrome, Edge or Safari. Nothing was sent.')
  }
}

/** Connect anew when the network is back, or the device wakes. @param {Page} page */
function watchDevice(page) {
  let last = Date.now()
  addEventListener('online', () => page.wake())
  setInterval(() => {
    if (Math.abs(Date.now() - last) > 1000 * SLEEP_SECONDS) page.wake()
    last = Date.now()
  }, 5000)
}

/** @param {unknown} error */
function explain(error) {
  const again = /** @type {[string, () => void]} */ (['Try again', () => location.reload()])
  if (error instanceof Problem) showProblem(error.heading, [error.message], error.isFinal ? null : again)
  else if (error instanceof StorageFault) {
    showProblem(error.isFull ? 'This device is full' : 'This browser does not store anything', [
      'Your ballot has to be kept on this device before any of it is sent, so that it is never drawn twice.',
      error.isFull ? 'Please free some space, and try again.'
        : 'Please allow this page to store data, leave private windows, and try again.',
    ], again)
  } else if (error instanceof ConnectionLost) {
    showProblem('The server does not answer', ['Please check the network, and try again.'], again)
  } else if (error instanceof SessionAborted) {
    const { message, phase, received, required } = error
    showProblem(required ? 'It ended without a result' : 'The server has refused this', [
      'The server says:', foreign(message),
      ...(required ? [`In the step “${phase}” ${received} reported, and ${required} were needed.`] : []),
      'If you do not expect that, please tell whoever sent you the link. Nothing more is sent.',
    ], again)
  } else if (error instanceof Refusal) {
    const advice = 'Nothing more is sent. Please tell whoever sent you the link.'
    showProblem('This page has stopped', [error.message, advice], again)
  } else {
    showProblem('This page has stopped', ['It has met something that it does not expect. Nothing more is sent.'], again)
    throw error
  }
}

async function main() {
  addEventListener('hashchange', () => location.reload())
  try {
    if (!isSecureContext) {
      throw new Problem('The connection is not secure', 'Browsers sign and encrypt only on pages that came by HTTPS. '
        + 'Please open the link with https:// at its beginning, or tell whoever sent it to you.', true)
    }
    const link = readLink(location.hash)
    const [terms, digest] = await fetchTerms(link)
    const seat = `${terms.descriptor[0]}:${link.place}`
    /** @param {Lock|null} lock */
    const run = async (lock) => {
      if (!lock) return false
      const page = new Page(link, terms, digest, await Journal.open(seat, () => page.wake())) // which reads it anew
      watchDevice(page)
      await page.run()
      return true
    }
    /** @param {Lock|null} lock */
    const guarded = (lock) => run(lock).catch((error) => { explain(error); return true })
    const name = `psephos:${seat}`
    if (!(await navigator.locks.request(name, { ifAvailable: true }, guarded))) {
      showProblem('Your ballot is open in another tab', [
        'Please go on there. When that tab is closed, this one goes on by itself.'])
      await navigator.locks.request(name, guarded)
    }
  } catch (error) {
    explain(error)
  }
}

void main()
