// What the voter sees, screen by screen. Each that asks something returns a promise of the answer.

import { fromBase64, hex, readValue } from './codec.js'
import { announce, button, digestText, factList, foreign, make, paragraph, section, show } from './dom.js'
import { keepProbability } from './randomizer.js'
import { certainty } from './vote.js'

/** @typedef {import('./vote.js').Terms} Terms */
/** @typedef {import('./vote.js').Ballot} Ballot */
/** @typedef {import('./party.js').Seat} Seat */
/** @typedef {import('./party.js').Past} Past */

/** @param {number} share @returns {string} never less than it is */
const percentUp = (share) => `${(Math.ceil(share * 1000 - 1e-9) / 10).toFixed(1)} %`
/** @param {number} share @returns {string} */
const percent = (share) => `${(100 * share).toFixed(1)} %`
/** @param {number} number @returns {string} */
const short = (number) => number.toLocaleString('en', { maximumSignificantDigits: 4 }).replace('-', '−')
/** @param {number} seconds since 1970 @returns {string} */
export const dateOf = (seconds) => new Date(1000 * seconds).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })

/** @param {Terms} terms @returns {Node[]} who learns the ballot */
function learners({ steps, epsilon, groups, isCentral, isWeightPrivate }) {
  if (isCentral) {
    return [paragraph(make('strong', {}, 'The server learns it, and so does whoever runs it.'),
      ' You trust them with your ballot. The server adds all ballots up, adds random noise, and tells everybody the result of that alone.')]
  }
  const first = make('strong', {}, 'Nobody learns it for certain, not even the server.')
  const rest = ' The server sees only what comes out of that, and allows for it when it counts.'
  if (steps[0].name === 'votes') {
    return [paragraph(first, ` Before it sends anything, this device replaces each answer, together with your weight, by something random. Whatever you answer, nothing that it sends is more than ${short(1.0005 * Math.exp(epsilon.opinion))} times as likely as it would be for any other answer and weight.`, rest)]
  }
  const lie = 1 - keepProbability({ epsilon: epsilon.opinion, choices: 2 })
  const weightLie = isWeightPrivate ? 1 - keepProbability({ epsilon: epsilon.weight, choices: Math.max(...groups) + 1 }) : 0
  return [paragraph(first, ` Before it sends anything, this device turns each answer into the opposite with a probability of ${percent(lie)}`,
    isWeightPrivate ? `, and your weight into another one with a probability of ${percent(weightLie)}.` : '.', rest)]
}

/** @param {Terms} terms @returns {Node[]} */
function cost({ steps, epsilon, isCentral }) {
  const { opinion, total, weight } = epsilon
  const ofAll = make('strong', {}, `${percentUp(certainty(total, 2))} sure`)
  if (isCentral) {
    return [paragraph('Whoever sees the result, even if they know every other ballot, is at most ', ofAll, ' of any one thing on yours that was as likely as not before. '
      + 'Against the server, nothing protects your ballot.')]
  }
  const isOneReport = steps.length === 1 && steps[0].candidates.length === 1
  return [
    paragraph('Whoever had no idea how you voted on a proposal, and sees what you send about it, is at most ',
      make('strong', {}, `${percentUp(certainty(opinion, 2))} sure`), ' of your answer afterwards.'),
    ...(isOneReport ? [] : [paragraph('Whoever sees all that you send, and knows how your answers hang together, is at most ', ofAll,
      ' of any one thing on your ballot that was as likely as not before.')]),
    make('p', { className: 'quiet' }, `Privacy loss: ε = ${short(total)} for the whole ballot, ε = ${short(opinion)} for each answer`
      + `${weight ? `, ε = ${short(weight)} for each report of your weight` : steps[0].name === 'votes' ? ' with your weight' : ''} (local model, replace-one, unit: the voter).`),
  ]
}

/** @param {Terms} terms @returns {Node[]} */
function privacy(terms) {
  const { isCentral, isWeightPrivate, epsilon } = terms
  return [
    section('Who learns your vote', ...learners(terms),
      paragraph(isWeightPrivate ? 'That you take part is known: your name is on the list of voters.' : 'That you take part is known, and so is your weight: both are on the list of voters.')),
    section('What it costs your privacy', ...cost(terms),
      ...(isCentral ? [make('p', { className: 'quiet' }, `Privacy loss: ε = ${short(epsilon.total)} for the whole ballot, against whoever sees the result (central model, replace-one, unit: the voter).`)] : [])),
    section('What you trust',
      paragraph(isCentral ? 'The server, this device, and this page, which comes from ' : 'This device, and this page, which comes from ', foreign(location.host),
        '. A dishonest server could send you another page', isCentral ? '' : ', one that tells it your real answers',
        ', and nothing on that page would show it. To be sure, compare the digests of the page’s files by a program of your own.')),
  ]
}

/** @param {Terms} terms @param {Uint8Array} digest @returns {HTMLElement} */
function comparison(terms, digest) {
  const files = Object.entries(terms.files)
  return section('To compare with others',
    paragraph('Digest of these terms, which your link names as well:'), digestText(hex(digest)),
    make('details', {}, make('summary', {}, 'More digests'),
      factList([
        ['List of voters', digestText(terms.descriptor[1])],
        ['Session', digestText(terms.descriptor[0])],
        ...files.map(([name, value]) => /** @type {[string, Node]} */ ([name, digestText(hex(fromBase64(value)))])),
      ])))
}

/** @param {Terms} terms @returns {string} */
function weightsInWords({ weights, isWeightPrivate }) {
  if (!isWeightPrivate) return 'Your weight is public, and on the list of voters.'
  return weights.length <= 12 ? `And your weight: ${weights.join(', ')}.` : `And your weight, from ${weights[0]} to ${weights[weights.length - 1]}.`
}

/**
 * Show what the vote is about, and on which terms.
 * @param {Terms} terms
 * @param {Uint8Array} digest of the terms
 * @returns {Promise<void>} once the voter goes on
 */
export function showTerms(terms, digest) {
  return new Promise((resolve) => {
    const until = terms.descriptor[2]
    show('terms', 'Step 1 of 3: before you vote', foreign(terms.title),
      ...(terms.question ? [make('p', { className: 'question', dir: 'auto' }, terms.question)] : []),
      section('What is asked',
        make('ul', { className: 'asked' }, ...terms.candidates.map((name) => make('li', {}, foreign(name), ': yes or no'))),
        paragraph(weightsInWords(terms))),
      ...privacy(terms),
      section('When', paragraph(until ? `Until ${dateOf(until)}, by this device's clock.` : 'No end is set.')),
      section('On this device', paragraph('Your link opens on one device, in one browser. Go on here if you can come back to this device until the result is there. '
        + 'Do not use a private window: it forgets what is needed to come back.')),
      comparison(terms, digest),
      make('div', { className: 'actions' }, button('Vote on this device', resolve, 'main')))
  })
}

/** @param {string} name @param {string} legend @param {[string, string][]} options @param {string} chosen @returns {HTMLFieldSetElement} */
function choice(name, legend, options, chosen) {
  const inputs = options.map(([value, text]) => make('label', { className: 'option' },
    make('input', { type: 'radio', name, value, checked: value === chosen, autocomplete: 'off' }), make('span', {}, text)))
  return make('fieldset', {}, make('legend', {}, foreign(legend)), make('div', { className: 'options' }, ...inputs))
}

/**
 * Ask for a ballot.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {Ballot|null} earlier what was chosen before
 * @returns {Promise<Ballot>}
 */
export function askBallot(terms, seat, earlier) {
  return new Promise((resolve) => {
    /** @type {[string, string][]} */
    const weights = terms.weights.map((weight, place) => [String(place), String(weight)])
    const weight = !terms.isWeightPrivate ? [] : [weights.length <= 6
      ? choice('weight', 'Your weight', weights, String(earlier?.weight ?? ''))
      : make('p', {}, make('label', { htmlFor: 'weight' }, 'Your weight '), make('select', { id: 'weight', name: 'weight', autocomplete: 'off' },
        make('option', { value: '' }, 'Choose'), ...weights.map(([value, text]) => make('option', { value, selected: value === String(earlier?.weight) }, text))))]
    const opinions = terms.candidates.map((name, place) => choice(`opinion ${place}`, name, [['1', terms.options[1]], ['0', terms.options[0]]], String(earlier?.opinions[place] ?? '')))
    const fault = make('p', { className: 'fault', role: 'alert' })
    const form = make('form', { noValidate: true, autocomplete: 'off' }, ...weight, ...opinions, fault,
      make('div', { className: 'actions' }, make('button', { type: 'submit', className: 'main' }, 'Review')))
    form.onchange = () => { fault.textContent = '' }
    form.onsubmit = (event) => {
      event.preventDefault()
      const data = new FormData(form)
      const names = [...(weight.length ? ['weight'] : []), ...terms.candidates.map((_, place) => `opinion ${place}`)]
      const missing = names.filter((name) => !data.get(name))
      if (!missing.length) {
        resolve({
          weight: weight.length ? Number(data.get('weight')) : null,
          opinions: terms.candidates.map((_, place) => Number(data.get(`opinion ${place}`))),
        })
        return
      }
      const whats = missing.map((name) => (name === 'weight' ? 'your weight' : `“${terms.candidates[Number(name.split(' ')[1])]}”`))
      fault.textContent = `Please answer ${whats.slice(0, 3).join(', ')}${whats.length > 3 ? ` and ${whats.length - 3} more` : ''}.`
      const first = form.elements.namedItem(missing[0])
      const input = first instanceof RadioNodeList ? first[0] : first
      if (input instanceof HTMLElement) input.focus()
    }
    show('ballot', 'Step 2 of 3: your ballot', foreign(terms.title),
      ...(terms.question ? [make('p', { className: 'question', dir: 'auto' }, terms.question)] : []),
      paragraph('Ballot of ', make('strong', {}, foreign(seat.name)),
        terms.isWeightPrivate ? '.' : `, whose weight is ${terms.weights[seat.row[1]]}.`),
      form)
  })
}

/**
 * Show a ballot before it is cast.
 * @param {Terms} terms
 * @param {Ballot} ballot
 * @returns {Promise<boolean>} whether to cast it
 */
export function confirmBallot(terms, ballot) {
  return new Promise((resolve) => {
    const answers = terms.candidates.map((name, place) => make('div', {}, make('dt', {}, foreign(name)), make('dd', {}, terms.options[ballot.opinions[place]])))
    const weight = ballot.weight === null ? [] : [make('div', {}, make('dt', {}, 'Your weight'), make('dd', {}, String(terms.weights[ballot.weight])))]
    const cast = button('Cast this ballot', () => {
      cast.disabled = true
      resolve(true)
    }, 'main')
    show('review', 'Step 3 of 3: confirm', 'Is this right?',
      make('dl', { className: 'answers' }, ...weight, ...answers),
      paragraph('Once it is cast, a ballot cannot be changed. ', terms.isCentral
        ? 'This device keeps your answers, and sends them to the server as they are.'
        : 'This device then draws what it will send, once, and forgets your answers: whoever looks into it later finds only the randomized reports.'),
      make('div', { className: 'actions' }, cast, button('Change it', () => resolve(false))))
  })
}

/** @param {Terms} terms @param {number} step @returns {string} */
function stepInWords(terms, step) {
  const { name, candidates } = terms.steps[step]
  const count = terms.steps.length > 1 ? `Report ${step + 1} of ${terms.steps.length}` : 'Your report'
  if (name === 'weight') return `${count}: your weight`
  if (name === 'ballot') return 'Your ballot'
  if (name === 'votes') return 'Your report: answers and weight'
  return candidates.length > 1 ? `${count}: your answers` : `${count}: your answer`
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
    this.title = 'Your ballot is cast'
    show('waiting', '', this.title, paragraph('Ballot of ', make('strong', {}, foreign(seat.name)), ' in ', foreign(terms.title), '.'), this.steps, this.advice, this.connection)
  }

  /** @param {Past} past @param {boolean} isWelcome whether the server has let it in */
  update({ requests, receipts }, isWelcome) {
    const { steps } = this.terms
    const isComplete = steps.every((_, step) => receipts.has(step))
    const current = steps.findIndex((_, step) => !receipts.has(step))
    /** @type {(state: string, text: string, note: string) => HTMLElement} */
    const item = (state, text, note) => make('li', { className: state, ...(state === 'current' ? { 'aria-current': 'step' } : {}) },
      make('span', {}, text), make('small', {}, note))
    this.steps.replaceChildren(
      this.terms.isCentral ? item('done', 'Kept', 'on this device') : item('done', 'Drawn', 'and kept on this device: it will never draw again'),
      ...steps.map((_, step) => {
        if (receipts.has(step)) return item('done', stepInWords(this.terms, step), 'acknowledged by the server')
        if (step > current) return item('later', stepInWords(this.terms, step), 'when the server asks for it')
        if (requests.length > step) return item('current', stepInWords(this.terms, step), 'sent; the server has not acknowledged it yet')
        return item('current', stepInWords(this.terms, step), isWelcome ? 'waiting for the other voters' : 'not sent yet')
      }),
      item(isComplete ? 'current' : 'later', 'The result', isComplete ? 'waiting for the other voters' : 'when all have reported'))
    this.advice.replaceChildren(...(isComplete
      ? [make('strong', {}, 'You may close this page.'), paragraph('All of your ballot is with the server. The result appears here; to see it later, open your link again on this device while the server still runs.')]
      : [make('strong', {}, 'Please keep this page open.'), paragraph(
        `The server still has to ask this device ${steps.length - receipts.size === 1 ? 'once' : `${steps.length - receipts.size} times`}. If the page closes, the device sleeps, or the network is gone, open your link again on this device `
        + `before the others have finished. Otherwise your ballot does not count.${this.terms.isCentral ? '' : ' It sends the same again, and draws nothing anew.'}`)]))
    this.advice.className = isComplete ? 'advice good' : 'advice'
    const said = isComplete ? 'The server has all of your ballot. You may close this page.' : receipts.size ? `${receipts.size} of ${steps.length} reports acknowledged.` : ''
    announce(said)
  }

  /** @param {'open'|'lost'|'connecting'} state @param {number} [seconds] until the next try */
  setConnection(state, seconds = 0) {
    const text = state === 'open' ? 'Connected.' : state === 'connecting' ? 'Connecting …' : `No connection to the server. Next try in ${Math.ceil(seconds)} s. `
    this.connection.className = `connection ${state}`
    this.connection.replaceChildren(make('span', {}, text), ...(state === 'lost' ? [this.retry] : []))
    if (state === 'lost') announce('No connection to the server. This page tries again by itself.')
  }
}

/** @param {any} estimate @returns {string} */
const inWords = (estimate) => `${short(estimate.value)} ± ${short(estimate.standard_error)}`

/** @param {any} margin @param {[number, number]} range of what is possible @returns {string} */
function marginOf(margin, [least, greatest]) {
  const excess = margin.value < least || margin.value > greatest
    ? ` Only ${short(least)} to ${short(greatest)} is possible; the excess is noise.` : ''
  return `Weight of yes above the quota: ${inWords(margin)}.${excess}`
}

/** @param {any} candidate @returns {[string, string, string]} class, decision, what it means */
function decisionOf({ verdict, passed }) {
  const sure = `Whatever the truth is, this is wrong with a probability of at most ${percent(verdict.level)}.`
  if (verdict.verdict === 'passes') return ['passes', 'Passes', sure]
  if (verdict.verdict === 'fails') return ['fails', 'Fails', sure]
  return ['undecided', `Undecided, leaning ${passed ? 'yes' : 'no'}`, 'A leaning decides nothing: if it was nearly a tie, it is a coin toss.']
}

/**
 * Show the outcome and the voter's receipt.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {Past} past
 * @param {{ release: Uint8Array, isLate: boolean, digest: string }} left what was released
 * @param {Uint8Array} digest of the terms
 */
export function showResult(terms, seat, past, left, digest) {
  const outcome = readValue(left.release)
  const cards = outcome.candidates.map((/** @type {any} */ candidate) => {
    const [kind, decision, meaning] = decisionOf(candidate)
    return make('li', { className: `candidate ${kind}` }, make('h2', {}, foreign(candidate.name)), make('p', { className: 'decision' }, decision),
      make('p', { className: 'quiet' }, meaning), ...(candidate.margin ? [make('p', { className: 'quiet' }, marginOf(candidate.margin, outcome.possible.margin))] : []))
  })
  const isCounted = !left.isLate && past.receipts.size === terms.steps.length
  const counted = isCounted ? 'Yes. The server acknowledged all of it in time.'
    : left.isLate ? 'No, or only in part: a step closed before your report was there.' : 'Unknown: the server did not acknowledge all of it.'
  const receipts = [...past.receipts].sort(([one], [other]) => one - other).map(([step, receipt]) => /** @type {[string, string]} */ ([`Acknowledgement ${step + 1}`, hex(receipt)]))
  /** @type {[string, string][]} */
  const digests = [
    ...(left.digest ? [/** @type {[string, string]} */ (['Transcript', left.digest])] : []),
    ['Terms (SHA-256)', hex(digest)], ['List of voters', terms.descriptor[1]], ['Session', terms.descriptor[0]], ...receipts]
  const text = [`Receipt: ${terms.title}`, `Ballot of: ${seat.name}`, `In the tally: ${counted}`, ...digests.map(([name, value]) => `${name}: ${value}`), ''].join('\n')
  /** @type {(fact: any) => [string, Node|string]} */
  const inDigits = ([name, value]) => [name, /^[0-9a-f]{32,}$/.test(value) ? digestText(value) : value]
  const save = make('a', { className: 'button', download: 'receipt.txt', href: URL.createObjectURL(new Blob([text], { type: 'text/plain' })) }, 'Save the receipt')
  show('result', 'The result', foreign(terms.title), ...(terms.question ? [make('p', { className: 'question', dir: 'auto' }, terms.question)] : []),
    make('ul', { className: 'candidates' }, ...cards),
    paragraph(make('span', { className: 'quiet' }, `${outcome.num_partners} voters reported. ± is one standard error of the randomization.`)),
    section('Your receipt',
      factList([['Ballot of', foreign(seat.name)], ['In the tally', counted], ...(left.digest ? digests.slice(0, 1) : [])].map(inDigits)),
      paragraph(left.digest ? 'Compare this digest of the transcript with other voters’: if they are equal, all of you were told the same.' : 'There is no digest of the transcript for whoever was late.'),
      make('details', {}, make('summary', {}, 'More digests'), factList(digests.slice(left.digest ? 1 : 0).map(inDigits))),
      make('div', { className: 'actions' }, save)))
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
    ...(action ? [make('div', { className: 'actions' }, button(action[0], action[1], 'main'))] : []))
}
