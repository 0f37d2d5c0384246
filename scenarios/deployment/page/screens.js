// What the voter sees, screen by screen. Each that asks something returns a promise of the answer.

import { fromBase64, hex, readValue } from './codec.js'
import { announce, button, digestText, factList, foreign, make, paragraph, section, show } from './dom.js'
import { keepProbability } from './randomizer.js'
import { certainty } from './vote.js'

/** @typedef {import('./vote.js').Terms} Terms */
/** @typedef {import('./vote.js').Ballot} Ballot */
/** @typedef {import('./party.js').Seat} Seat */
/** @typedef {import('./party.js').Past} Past */
/** @typedef {[string, Node|string]} Fact */

/** @param {number} share @returns {string} never less than it is */
const percentUp = (share) => `${(Math.ceil(share * 1000 - 1e-9) / 10).toFixed(1)} %`
/** @param {number} share @returns {string} */
const percent = (share) => `${(100 * share).toFixed(1)} %`
/** @param {number} number @returns {string} */
const short = (number) => number.toLocaleString('en', { maximumSignificantDigits: 4 }).replace('-', '−')
/** @param {number} seconds since 1970 @returns {string} */
export function dateOf(seconds) {
  return new Date(1000 * seconds).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })
}
/** @param {string} text */
const strong = (text) => make('strong', {}, text)
/** @param {string} text */
const quiet = (text) => make('p', { className: 'quiet' }, text)
/** @param {string} question @returns {Node[]} */
const questionOf = (question) => (question ? [make('p', { className: 'question', dir: 'auto' }, question)] : [])
/** @param {Node[]} buttons */
const actions = (...buttons) => make('div', { className: 'actions' }, ...buttons)

/** @param {Terms} terms @returns {Node} who learns the ballot */
function learners({ steps, epsilon, groups, isCentral }) {
  if (isCentral) {
    return paragraph(strong('The server learns it, and so does whoever runs it.'), ' You trust them with your ballot. '
      + 'The server adds all ballots up, adds random noise, and tells everybody the result of that alone.')
  }
  const first = strong('Nobody learns it for certain, not even the server.')
  const last = 'The server sees only what comes out of that, and allows for it when it counts.'
  if (steps[0].name === 'votes') {
    const times = short(1.0005 * Math.exp(epsilon.opinion))
    return paragraph(first, ' Before it sends anything, this device replaces each answer, together with your weight, '
      + `by something random. Whatever you answer, nothing that it sends is more than ${times} times as likely as it `
      + `would be for any other answer and weight. ${last}`)
  }
  /** @param {number} epsilon @param {number} choices */
  const lie = (epsilon, choices) => percent(1 - keepProbability({ epsilon, choices }))
  const weight = epsilon.weight
    ? `, and your weight into another one with a probability of ${lie(epsilon.weight, Math.max(...groups) + 1)}` : ''
  return paragraph(first, ' Before it sends anything, this device turns each answer into the opposite with a '
    + `probability of ${lie(epsilon.opinion, 2)}${weight}. ${last}`)
}

/** @param {Terms} terms @returns {Node[]} */
function cost({ steps, epsilon, isCentral }) {
  const { opinion, total, weight } = epsilon
  const ofAll = strong(`${percentUp(certainty(total, 2))} sure`)
  if (isCentral) {
    return [
      paragraph('Whoever sees the result, even if they know every other ballot, is at most ', ofAll,
        ' of any one thing on yours that was as likely as not before. Against the server, nothing protects your '
        + 'ballot.'),
      quiet(`Privacy loss: ε = ${short(total)} for the whole ballot, against whoever sees the result (central model, `
        + 'replace-one, unit: the voter).'),
    ]
  }
  const isOneReport = steps.length === 1 && steps[0].candidates.length === 1
  const rest = steps[0].name === 'votes' ? ' with your weight'
    : weight ? `, ε = ${short(weight)} for each report of your weight` : ''
  return [
    paragraph('Whoever had no idea how you voted on a proposal, and sees what you send about it, is at most ',
      strong(`${percentUp(certainty(opinion, 2))} sure`), ' of your answer afterwards.'),
    ...(isOneReport ? [] : [
      paragraph('Whoever sees all that you send, and knows how your answers hang together, is at most ', ofAll,
        ' of any one thing on your ballot that was as likely as not before.')]),
    quiet(`Privacy loss: ε = ${short(total)} for the whole ballot, ε = ${short(opinion)} for each answer${rest} `
      + '(local model, replace-one, unit: the voter).'),
  ]
}

/** @param {Terms} terms @returns {Node} */
function trust({ isCentral }) {
  const what = isCentral ? '' : ', one that tells it your real answers'
  return paragraph(isCentral ? 'The server, this device' : 'This device', ', and this page, which comes from ',
    foreign(location.host), `. A dishonest server could send you another page${what}, and nothing on that page would `
    + 'show it. To be sure, compare the digests of the page’s files by a program of your own.')
}

/** @param {Terms} terms @param {Uint8Array} digest @returns {Node[]} */
function comparison({ descriptor, files }, digest) {
  const [session, roster] = descriptor
  /** @type {Fact[]} */
  const facts = Object.entries(files).map(([name, value]) => [name, digestText(hex(fromBase64(value)))])
  return [
    paragraph('Digest of these terms, which your link names as well:'), digestText(hex(digest)),
    make('details', {}, make('summary', {}, 'More digests'),
      factList([['List of voters', digestText(roster)], ['Session', digestText(session)], ...facts])),
  ]
}

/** @param {Terms} terms @returns {string} */
function weightsInWords({ weights, isWeightPrivate }) {
  if (!isWeightPrivate) return 'Your weight is public, and on the list of voters.'
  const range = weights.length <= 12 ? weights.join(', ') : `from ${weights[0]} to ${weights[weights.length - 1]}`
  return `And your weight, by which your vote counts: ${range}.`
}

/**
 * Show what the vote is about, and on which terms.
 * @param {Terms} terms
 * @param {Uint8Array} digest of the terms
 * @returns {Promise<void>} once the voter goes on
 */
export function showTerms(terms, digest) {
  const { candidates, descriptor, isWeightPrivate, question, title } = terms
  const until = descriptor[2]
  return new Promise((resolve) => {
    show('terms', 'Step 1 of 3: before you vote', foreign(title), ...questionOf(question),
      section('What is asked',
        make('ul', { className: 'asked' }, ...candidates.map((name) => make('li', {}, foreign(name), ': yes or no'))),
        paragraph(weightsInWords(terms))),
      section('Who learns your vote', learners(terms), paragraph(isWeightPrivate
        ? 'That you take part is known: your name is on the list of voters.'
        : 'That you take part is known, and so is your weight: both are on the list of voters.')),
      section('What it costs your privacy', ...cost(terms)),
      section('What you trust', trust(terms)),
      section('When', paragraph('Vote as soon as you can: voters are waited for only as long as ',
        make('a', { href: '/', target: '_blank' }, 'the page of the vote'), ' says. ',
        until ? `All ends on ${dateOf(until)}, by this device’s clock, at the latest.` : '')),
      section('On this device', paragraph('Your link opens on one device, in one browser. Go on here if you can come '
        + 'back to this device until the result is there. Do not use a private window: it forgets what is needed to '
        + 'come back.')),
      section('To compare with others', ...comparison(terms, digest)),
      actions(button('Vote on this device', resolve, 'main')))
  })
}

/**
 * @param {string} name
 * @param {string} legend
 * @param {[string, string][]} options values and texts
 * @param {string} chosen
 * @returns {HTMLElement}
 */
function choice(name, legend, options, chosen) {
  const labels = options.map(([value, text]) => make('label', { className: 'option' },
    make('input', { type: 'radio', name, value, checked: value === chosen, autocomplete: 'off' }),
    make('span', {}, text)))
  return make('fieldset', {}, make('legend', {}, foreign(legend)), make('div', { className: 'options' }, ...labels))
}

/** @param {number[]} weights @param {string} chosen @returns {HTMLElement} */
function weightChoice(weights, chosen) {
  /** @type {[string, string][]} */
  const options = weights.map((weight, place) => [String(place), String(weight)])
  if (options.length <= 6) return choice('weight', 'Your weight', options, chosen)
  return paragraph(make('label', { htmlFor: 'weight' }, 'Your weight '),
    make('select', { id: 'weight', name: 'weight', autocomplete: 'off' }, make('option', { value: '' }, 'Choose'),
      ...options.map(([value, text]) => make('option', { value, selected: value === chosen }, text))))
}

/**
 * Ask for a ballot.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {Ballot|null} earlier what was chosen before
 * @returns {Promise<Ballot>}
 */
export function askBallot({ candidates, isWeightPrivate, options, question, title, weights }, seat, earlier) {
  const [no, yes] = options
  const fields = candidates.map((name, place) =>
    choice(`opinion ${place}`, name, [['1', yes], ['0', no]], String(earlier?.opinions[place] ?? '')))
  if (isWeightPrivate) fields.unshift(weightChoice(weights, String(earlier?.weight ?? '')))
  const fault = make('p', { className: 'fault', role: 'alert' })
  const form = make('form', { noValidate: true, autocomplete: 'off' }, ...fields, fault,
    actions(make('button', { type: 'submit', className: 'main' }, 'Review')))
  form.onchange = () => { fault.textContent = '' }
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault()
      const data = new FormData(form)
      const names = [...(isWeightPrivate ? ['weight'] : []), ...candidates.map((_, place) => `opinion ${place}`)]
      const missing = names.filter((name) => !data.get(name))
      if (missing.length) {
        const texts = missing.map((name) =>
          (name === 'weight' ? 'your weight' : `“${candidates[Number(name.split(' ')[1])]}”`))
        const more = texts.length > 3 ? ` and ${texts.length - 3} more` : ''
        fault.textContent = `Please answer: ${texts.slice(0, 3).join(', ')}${more}.`
        const first = form.elements.namedItem(missing[0])
        const input = first instanceof RadioNodeList ? first[0] : first
        if (input instanceof HTMLElement) input.focus()
        return
      }
      resolve({
        weight: isWeightPrivate ? Number(data.get('weight')) : null,
        opinions: candidates.map((_, place) => Number(data.get(`opinion ${place}`))),
      })
    }
    const weight = isWeightPrivate ? '.' : `, whose weight is ${weights[seat.row[1]]}.`
    show('ballot', 'Step 2 of 3: your ballot', foreign(title), ...questionOf(question),
      paragraph('Ballot of ', make('strong', {}, foreign(seat.name)), weight), form)
  })
}

/**
 * Show a ballot before it is cast.
 * @param {Terms} terms
 * @param {Ballot} ballot
 * @returns {Promise<boolean>} whether to cast it
 */
export function confirmBallot({ candidates, isCentral, options, weights }, { weight, opinions }) {
  /** @type {[Node|string, string][]} */
  const answers = candidates.map((name, place) => [foreign(name), options[opinions[place]]])
  if (weight !== null) answers.unshift(['Your weight', String(weights[weight])])
  const rows = answers.map(([name, answer]) => make('div', {}, make('dt', {}, name), make('dd', {}, answer)))
  return new Promise((resolve) => {
    const cast = button('Cast this ballot', () => {
      cast.disabled = true
      resolve(true)
    }, 'main')
    show('review', 'Step 3 of 3: confirm', 'Is this right?', make('dl', { className: 'answers' }, ...rows),
      paragraph('Once it is cast, a ballot cannot be changed. ', isCentral
        ? 'This device keeps your answers, and sends them to the server as they are.'
        : 'This device then randomizes your answers, once, and forgets them: whoever looks into it later finds only '
          + 'the randomized reports.'),
      actions(cast, button('Change it', () => resolve(false))))
  })
}

/** @param {Terms} terms @param {number} step @returns {string} */
function stepInWords({ steps }, step) {
  const { name, candidates } = steps[step]
  if (name === 'ballot') return 'Your ballot'
  const count = steps.length > 1 ? `Report ${step + 1} of ${steps.length}` : 'Your report'
  if (name === 'weight') return `${count}: your weight`
  return `${count}: your ${candidates.length > 1 ? 'answers' : 'answer'}${name === 'votes' ? ' and weight' : ''}`
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
    show('waiting', '', 'Your ballot is cast',
      paragraph('Ballot of ', make('strong', {}, foreign(seat.name)), ': ', foreign(terms.title)),
      this.steps, this.advice, this.connection)
  }

  /** @param {Past} past @param {boolean} isWelcome whether the server has let it in */
  update({ requests, receipts }, isWelcome) {
    const { isCentral, steps } = this.terms
    const numLeft = steps.length - receipts.size
    const current = steps.findIndex((_, step) => !receipts.has(step))
    /** @type {(state: string, text: string, note: string) => HTMLElement} */
    const item = (state, text, note) => {
      const element = make('li', { className: state }, make('span', {}, text), make('small', {}, note))
      if (state === 'current') element.setAttribute('aria-current', 'step')
      return element
    }
    this.steps.replaceChildren(
      isCentral ? item('done', 'Kept', 'on this device')
        : item('done', 'Randomized', 'once, and kept on this device'),
      ...steps.map((_, step) => {
        const text = stepInWords(this.terms, step)
        if (receipts.has(step)) return item('done', text, 'acknowledged by the server')
        if (step > current) return item('later', text, 'when the server asks for it')
        if (requests.length > step) return item('current', text, 'sent; the server has not acknowledged it yet')
        return item('current', text, isWelcome ? 'waiting for the other voters' : 'not sent yet')
      }),
      numLeft ? item('later', 'The result', 'when all have reported')
        : item('current', 'The result', 'waiting for the other voters'))
    this.advice.className = numLeft ? 'advice' : 'advice good'
    if (numLeft) {
      this.advice.replaceChildren(strong('Please keep this page open.'), paragraph('The server still has to ask this '
        + `device ${numLeft === 1 ? 'once' : `${numLeft} times`}. If the page closes, the device sleeps, or the `
        + 'network is gone, open your link again on this device before the others have finished: it sends the same '
        + 'again. Otherwise your ballot does not count.'))
      announce(receipts.size ? `${receipts.size} of ${steps.length} reports acknowledged.` : '')
    } else {
      this.advice.replaceChildren(strong('You may close this page.'), paragraph('All of your ballot is with the '
        + 'server. The result appears here; to see it later, open your link again on this device while the server still '
        + 'runs.'))
      announce('The server has all of your ballot. You may close this page.')
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

/** @param {any} estimate @param {[number, number]} range of what is possible @returns {string} */
function marginInWords(estimate, [least, greatest]) {
  const excess = estimate.value < least || estimate.value > greatest
    ? ` Only ${short(least)} to ${short(greatest)} is possible; the excess is noise.` : ''
  return `Weight of yes above the quota: ${short(estimate.value)} ± ${short(estimate.standard_error)}.${excess}`
}

/** @param {any} candidate @returns {[string, string, string]} class, decision, what it means */
function decisionOf({ verdict, passed }) {
  const sure = `Whatever the truth is, this is wrong with a probability of at most ${percent(verdict.level)}.`
  if (verdict.verdict === 'passes') return ['passes', 'Passes', sure]
  if (verdict.verdict === 'fails') return ['fails', 'Fails', sure]
  return ['undecided', `Undecided, leaning ${passed ? 'yes' : 'no'}`,
    'A leaning decides nothing: if it was nearly a tie, it is a coin toss.']
}

/** @param {any} candidate @param {any} possible @returns {Node} */
function outcomeCard(candidate, possible) {
  const [kind, decision, meaning] = decisionOf(candidate)
  const margin = candidate.margin ? [quiet(marginInWords(candidate.margin, possible.margin))] : []
  return make('li', { className: `candidate ${kind}` }, make('h2', {}, foreign(candidate.name)),
    make('p', { className: 'decision' }, decision), quiet(meaning), ...margin)
}

/**
 * Show the outcome and the voter's receipt.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {Past} past
 * @param {{ release: Uint8Array, isLate: boolean, digest: string }} left what was released
 * @param {Uint8Array} digest of the terms
 */
export function showResult({ descriptor, question, steps, title }, seat, { receipts }, left, digest) {
  const outcome = readValue(left.release)
  const isComplete = receipts.size === steps.length
  const counted = left.isLate ? 'No, or only in part: a step closed before your report was there.'
    : isComplete ? 'Yes. The server acknowledged all of it in time.'
      : 'Unknown: the server did not acknowledge all of it.'
  /** @type {[string, string][]} */
  const first = [['Ballot of', seat.name], ['In the tally', counted]]
  if (left.digest) first.push(['Transcript', left.digest])
  /** @type {[string, string][]} */
  const rest = [['Terms (SHA-256)', hex(digest)], ['List of voters', descriptor[1]], ['Session', descriptor[0]]]
  receipts.forEach((receipt, step) => rest.push([`Acknowledgement ${step + 1}`, hex(receipt)]))
  /** @type {(fact: [string, string]) => Fact} */
  const inDigits = ([name, value]) => [name, /^[0-9a-f]{32,}$/.test(value) ? digestText(value) : foreign(value)]
  const text = [`Receipt: ${title}`, ...[...first, ...rest].map(([name, value]) => `${name}: ${value}`), ''].join('\n')
  const file = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  /** @type {Node[]} */
  const cards = outcome.candidates.map((/** @type {any} */ candidate) => outcomeCard(candidate, outcome.possible))
  show('result', 'The result', foreign(title), ...questionOf(question),
    make('ul', { className: 'candidates' }, ...cards),
    quiet(`${outcome.num_partners} voters reported. ± is one standard error of the randomization.`),
    section('Your receipt', factList(first.map(inDigits)), paragraph(left.digest
      ? 'Compare this digest of the transcript with other voters’: if they are equal, all of you were told the same.'
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
