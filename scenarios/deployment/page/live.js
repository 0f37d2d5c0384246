// The page for who watches: where the session stands, as the server sends it. All text is shown as text.

/** @typedef {{ state: string, phase: string, deadline: number|null, parties: number, joined: number|null,
 *   reported: Record<string, number>|null, stays: boolean, result?: { verdict: string, has_picture: boolean } }} Facts */

const STATES = new Map([
  ['registering', 'Open: voters open their links.'],
  ['gathering', 'Open: voters are joining.'],
  ['collecting', 'Open: votes are coming in.'],
  ['released', 'Over: the voters are told the outcome.'],
  ['aborted', 'Ended without an outcome.'],
])

/** What the reports of a phase are, in a voter's words. */
const REPORTS = new Map([['weights', 'Weights'], ['opinions', 'Answers'], ['votes', 'Ballots']])

/** @param {string} name @returns {HTMLElement} */
function find(name) {
  const element = document.getElementById(name)
  if (!element) throw new Error(name)
  return element
}

/** @param {string} term @param {string} description @returns {HTMLElement} */
function row(term, description) {
  const [line, name, value] = ['div', 'dt', 'dd'].map((kind) => document.createElement(kind))
  name.textContent = term
  name.dir = 'auto'
  value.textContent = description
  line.append(name, value)
  return line
}

/** @param {Facts} facts */
function show(facts) {
  const isEarly = facts.state === 'registering'
  const rows = [row(isEarly ? 'Links' : 'On the roster', String(facts.parties))]
  const joined = isEarly ? 'Were opened' : 'Have joined'
  if (facts.joined !== null) rows.push(row(joined, `${facts.joined} of ${facts.parties}`))
  for (const [phase, number] of Object.entries(facts.reported ?? {})) {
    rows.push(row(`${REPORTS.get(phase) ?? phase} received`, `${number} of ${facts.parties}`))
  }
  if (facts.deadline !== null && ['registering', 'gathering', 'collecting'].includes(facts.state)) {
    const until = new Date(1000 * facts.deadline).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })
    rows.push(row(facts.phase === 'join' ? 'Voters may join until' : 'Voters may send these until', until))
  }
  find('facts').replaceChildren(...rows)
  find('state').textContent = facts.result ? 'Over. This is the result:' : STATES.get(facts.state) ?? facts.state
  if (facts.result) showResult(facts.result)
}

/** @param {{ verdict: string, has_picture: boolean }} result */
function showResult({ verdict, has_picture: hasPicture }) {
  const words = document.createElement('p')
  words.className = 'question'
  words.dir = 'auto'
  words.textContent = verdict
  const link = document.createElement('a')
  link.href = '/result.json'
  link.textContent = 'All that was released, as data'
  find('result').replaceChildren(words, ...(hasPicture ? [picture()] : []), link)
}

/** @returns {HTMLElement} the estimates, which for a phone are drawn narrower */
function picture() {
  const [frame, narrow, image] = [
    document.createElement('picture'), document.createElement('source'), document.createElement('img')]
  narrow.media = '(max-width: 40rem)'
  narrow.srcset = '/estimates-narrow.svg'
  image.src = '/estimates.svg'
  image.alt = 'The estimates with their errors; the words above say what they mean.'
  frame.append(narrow, image)
  return frame
}

async function showTerms() {
  const terms = await (await fetch('/session.json', { cache: 'no-store' })).json()
  document.title = terms.title
  find('title').textContent = terms.title
  find('question').textContent = terms.question ?? ''
}

function watch() {
  const events = new EventSource('/events')
  let [isOver, isReleased] = [false, false]
  events.onmessage = ({ data }) => {
    /** @type {Facts} */
    const facts = JSON.parse(data)
    isOver = facts.state === 'aborted' || (facts.state === 'released' && (!facts.stays || Boolean(facts.result)))
    isReleased = facts.state === 'released'
    if (isOver) events.close()
    show(facts)
  }
  events.onerror = () => {
    if (!isOver && !isReleased) find('state').textContent = 'The server does not answer. This page tries again by itself.'
  }
}

showTerms().catch(() => {})
watch()
