// What is seen of any session, screen by screen. Each that asks something returns a promise of the answer.

import { fromBase64, hex, readValue } from './codec.js'
import {
  actions, announce, button, digestText, factList, foreign, make, paragraph, questionOf, quiet, section, show, strong,
} from './dom.js'
import { IN_DISPUTE } from './party.js'
import { certainty, dateOf, percentUp, short } from './words.js'

/** @typedef {import('./systems.js').Terms} Terms */
/** @typedef {import('./party.js').Seat} Seat */
/** @typedef {import('./party.js').Past} Past */
/** @typedef {[string, Node|string]} Fact */

/** @param {Terms} terms @returns {Node[]} who learns the ballot */
function learners(terms) {
  const { isCentral, system } = terms
  const first = isCentral ? 'The server learns it, and so does whoever runs it.'
    : 'Nobody learns it for certain, not even the server.'
  const rest = isCentral ? `You trust them with your ${system.phrases.thing}. The server counts with random noise, and `
    + 'tells everybody the result of that alone.' : `Before it sends anything, this device ${system.does(terms)}. The `
    + 'server sees only what comes out of that, and allows for it when it counts.'
  return [paragraph(strong(first), ' ', rest), paragraph(system.known(terms))]
}

/** @param {Terms} terms @returns {Node[]} */
function cost(terms) {
  const { epsilon, isCentral, system } = terms
  const { person, thing } = system.phrases
  const part = system.part(terms)
  const all = `of any one thing on your ${thing} that was as likely as not before.`
  const ofAll = strong(`${percentUp(certainty(epsilon.total, 2))} sure`)
  const loss = `Privacy loss: ε = ${short(epsilon.total)} for the whole ${thing}${part ? `, ${part.loss}` : ''}`
  if (isCentral) {
    return [paragraph(`Whoever sees the result, even if they know every other ${thing}, is at most `, ofAll,
      ` ${all} Against the server, nothing protects your ${thing}.`),
    quiet(`${loss}, against whoever sees the result (central model, replace-one, unit: the ${person}).`)]
  }
  return [
    ...(part ? [paragraph(`Whoever had no idea ${part.about}, and sees what you send about it, is at most `,
      strong(`${percentUp(part.sure)} sure`), ' of your answer afterwards.')] : []),
    ...(part?.isAll ? []
      : [paragraph('Whoever sees all that you send, and knows how your answers hang together, is at most ', ofAll, ` ${all}`)]),
    quiet(`${loss} (local model, replace-one, unit: the ${person}).`),
  ]
}

/** @param {Terms} terms @returns {Node} */
function trust({ isCentral, masked }) {
  const what = isCentral ? '' : ', one that tells it your real answers'
  return paragraph(isCentral ? 'The server, this device' : 'This device', ', and this page, which comes from ',
    foreign(location.host), `${masked?.others ?? ''}. A dishonest server could send you another page${what}, and nothing `
    + 'on that page would show it. To be sure, compare the digests of the page’s files by a program of your own.')
}

/** @param {Terms} terms @param {Uint8Array} digest @returns {Node[]} */
function comparison({ descriptor, files, system }, digest) {
  const [session, roster] = descriptor
  /** @type {Fact[]} */
  const facts = Object.entries(files).map(([name, value]) => [name, digestText(hex(fromBase64(value)))])
  return [
    paragraph('Digest of these terms, which your link names as well:'), digestText(hex(digest)),
    make('details', {}, make('summary', {}, 'More digests'),
      factList([[`List of ${system.phrases.person}s`, digestText(roster)], ['Session', digestText(session)], ...facts])),
  ]
}

/**
 * Show what a session is about, and on which terms.
 * @param {Terms} terms
 * @param {Uint8Array} digest of the terms
 * @returns {Promise<void>} once the voter goes on
 */
export function showTerms(terms, digest) {
  const { descriptor, question, system, title } = terms
  const { phrases } = system
  const until = descriptor[2]
  return new Promise((resolve) => {
    show('terms', `Step 1 of 3: before you ${phrases.act}`, foreign(title), ...questionOf(question),
      section('What is asked', ...system.asked(terms)),
      section(`Who learns your ${phrases.thing}`, ...(terms.masked?.learners ?? learners(terms))),
      section('What it costs your privacy', ...(terms.masked?.cost ?? cost(terms))),
      section('What you trust', trust(terms)),
      section('When', paragraph(`${phrases.start} as soon as you can: ${phrases.person}s are waited for only as long as `,
        make('a', { href: '/', target: '_blank' }, `the page of the ${phrases.session}`), ' says. ',
        until ? `All ends on ${dateOf(until)}, by this device’s clock, at the latest.` : '')),
      section('On this device', paragraph('Your link opens on one device, in one browser. Go on here if you can come '
        + 'back to this device until the result is there. Do not use a private window: it forgets what is needed to '
        + 'come back.')),
      section('To compare with others', ...comparison(terms, digest)),
      actions(button(`${phrases.start} on this device`, resolve, 'main')))
  })
}

/**
 * Show the form that asks for a ballot.
 * @param {any} terms
 * @param {Seat} seat
 * @param {string} after what stands after the party's name
 * @param {HTMLFormElement} form
 */
export function showBallot({ question, system, title }, seat, after, form) {
  const { of, thing } = system.phrases
  show('ballot', `Step 2 of 3: your ${thing}`, foreign(title), ...questionOf(question),
    paragraph(`${of} `, strong(foreign(seat.name)), after), form)
}

/**
 * Show a ballot before it is cast.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {any} ballot
 * @returns {Promise<boolean>} whether to cast it
 */
export function confirmBallot(terms, seat, ballot) {
  const { isCentral, system } = terms
  const rows = system.answers(terms, seat, ballot).map(([name, answer]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, answer)))
  return new Promise((resolve) => {
    const cast = button(system.phrases.cast, () => {
      cast.disabled = true
      resolve(true)
    }, 'main')
    show('review', 'Step 3 of 3: confirm', 'Is this right?', make('dl', { className: 'answers' }, ...rows),
      paragraph(`Once you have sent it, your ${system.phrases.thing} cannot be changed. `, isCentral
        ? 'This device keeps your answers, and sends them to the server as they are.'
        : terms.masked?.kept ?? 'This device then randomizes your answers, once, and forgets them: whoever looks into it later finds only '
          + 'the randomized reports.'),
      actions(cast, button('Change it', () => resolve(false))))
  })
}

/** The screen on which a cast ballot waits for the others. */
export class WaitingScreen {
  /** @param {Terms} terms @param {Seat} seat @param {() => void} onRetry */
  constructor(terms, seat, onRetry) {
    this.terms = terms
    this.steps = make('ol', { className: 'steps' })
    this.advice = make('div', { className: 'advice' })
    this.connection = make('p', { className: 'connection' })
    this.retry = button('Try now', onRetry, 'small')
    const { done, of } = terms.system.phrases
    show('waiting', '', done, paragraph(`${of} `, strong(foreign(seat.name)), ': ', foreign(terms.title)),
      this.steps, this.advice, this.connection)
  }

  /** @param {Past} past @param {boolean} isWelcome whether the server has let it in */
  update({ requests, receipts }, isWelcome) {
    const { isCentral, masked, system } = this.terms
    const { person, thing } = system.phrases
    const isAsked = (/** @type {number} */ step) => !masked || !IN_DISPUTE.includes(step) || step in requests
    const steps = Object.keys(this.terms.steps).map(Number).filter(isAsked)
    const numLeft = steps.filter((step) => !receipts.has(step)).length
    const current = steps.find((step) => !receipts.has(step)) ?? this.terms.steps.length
    /** @type {(state: string, text: string, note: string) => HTMLElement} */
    const item = (state, text, note) => {
      const element = make('li', { className: state }, make('span', {}, text), make('small', {}, note))
      if (state === 'current') element.setAttribute('aria-current', 'step')
      return element
    }
    this.steps.replaceChildren(
      isCentral || masked ? item('done', 'Kept', 'on this device')
        : item('done', 'Randomized', 'once, and kept on this device'),
      ...steps.map((step) => {
        const text = masked?.steps[step] ?? system.stepInWords(this.terms, step)
        if (receipts.has(step)) return item('done', text, 'acknowledged by the server')
        if (step > current) return item('later', text, 'when the server asks for it')
        if (requests.length > step) return item('current', text, 'sent; the server has not acknowledged it yet')
        return item('current', text, isWelcome ? `waiting for the other ${person}s` : 'not sent yet')
      }),
      numLeft ? item('later', 'The result', 'when all have reported')
        : item('current', 'The result', `waiting for the other ${person}s`))
    this.advice.className = numLeft || masked ? 'advice' : 'advice good'
    if (masked) {
      this.advice.replaceChildren(strong('Please keep this page open until the result is there.'), masked.advice)
      announce(receipts.size ? `Step ${steps.length - numLeft} of ${steps.length} is done.` : '')
    } else if (numLeft) {
      this.advice.replaceChildren(strong('Please keep this page open.'), paragraph('The server still has to ask this '
        + `device ${numLeft === 1 ? 'once' : `${numLeft} times`}. If the page closes, the device sleeps, or the `
        + 'network is gone, open your link again on this device before the others have finished: it sends the same '
        + `again. Otherwise your ${thing} cannot count.`))
      announce(receipts.size ? `${receipts.size} of ${steps.length} reports acknowledged.` : '')
    } else {
      this.advice.replaceChildren(strong('You may close this page.'), paragraph('The server has all that it '
        + 'asks for. The result appears here; to see it later, open your link again on this device while the server '
        + 'still runs.'))
      announce('The server has all that it asks for. You may close this page.')
    }
  }

  /** @param {'open'|'lost'|'connecting'} state @param {number} [seconds] until the next try */
  setConnection(state, seconds = 0) {
    const texts = {
      open: 'Connected.',
      connecting: 'Connecting …',
      lost: `No connection to the server. Next try in ${Math.ceil(seconds)} s.`,
    }
    this.connection.className = `connection ${state}`
    this.connection.replaceChildren(make('span', {}, texts[state]), ...(state === 'lost' ? [this.retry] : []))
    if (state === 'lost') announce('No connection to the server. This page tries again by itself.')
  }
}

/**
 * Show the outcome and the voter's receipt.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {Past} past
 * @param {{ release: Uint8Array, own: Uint8Array|null, isLate: boolean, digest: string, roster: string }} left what was released
 * @param {Uint8Array} digest of the terms
 */
export function showResult(terms, seat, { receipts }, left, digest) {
  const { descriptor, masked, question, steps, system, title } = terms
  const { of, person } = system.phrases
  const isComplete = receipts.size === steps.length
  const counted = masked ? masked.counted(receipts)
    : left.isLate ? 'No, or only in part: a step closed before your report was there.'
    : isComplete ? 'Yes. The server acknowledged all of it in time.'
      : 'Unknown: the server did not acknowledge all of it.'
  /** @type {[string, string][]} */
  const first = [[of, seat.name], ['In the tally', counted]]
  if (left.digest) first.push(['Transcript', left.digest])
  /** @type {[string, string][]} */
  const rest = [['Terms (SHA-256)', hex(digest)], [`List of ${person}s`, left.roster], ['Session', descriptor[0]]]
  receipts.forEach((receipt, step) => rest.push([`Acknowledgement ${step + 1}`, hex(receipt)]))
  /** @type {(fact: [string, string]) => Fact} */
  const inDigits = ([name, value]) => [name, /^[0-9a-f]{32,}$/.test(value) ? digestText(value) : foreign(value)]
  const text = [`Receipt: ${title}`, ...[...first, ...rest].map(([name, value]) => `${name}: ${value}`), ''].join('\n')
  const file = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  show('result', 'The result', foreign(title), ...questionOf(question),
    ...system.outcome(terms, readValue(left.release), left.own && readValue(left.own)),
    section('Your receipt', factList(first.map(inDigits)), paragraph(left.digest
      ? `Compare this digest of the transcript with other ${person}s’: if they are equal, all of you were told the same.`
      : 'There is no digest of the transcript for whoever was late.'),
    make('details', {}, make('summary', {}, 'More digests'), factList(rest.map(inDigits))),
    actions(make('a', { className: 'button', download: 'receipt.txt', href: file }, 'Save the receipt'))))
  announce('The result is there.')
}

/**
 * Show that it does not go on.
 * @param {string} heading
 * @param {(Node|string)[]} explanation
 * @param {[string, () => void]|null} [action]
 */
export function showProblem(heading, explanation, action = null) {
  show('problem', '', heading, make('div', { className: 'advice poor' }, ...explanation.map((each) => paragraph(each))),
    ...(action ? [actions(button(...action, 'main'))] : []))
}
