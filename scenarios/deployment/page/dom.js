// Elements of the page. Whatever comes from outside enters it as text, never as markup.

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties] of the element, as the DOM names them; `aria-…` and `for` are attributes
 * @param {(Node|string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) Object.assign(element, { [name]: value })
    else element.setAttribute(name, value)
  }
  element.append(...children)
  return element
}

/** @param {string} text of somebody's @returns {HTMLElement} which has a direction of its own */
export const foreign = (text) => make('bdi', { dir: 'auto' }, text)

/** @param {(Node|string)[]} children @returns {HTMLElement} */
export const paragraph = (...children) => make('p', {}, ...children)

/** @param {string} text @param {() => void} act @param {string} [className] @returns {HTMLButtonElement} */
export const button = (text, act, className = '') => make('button', { type: 'button', className, onclick: act }, text)

/** @param {string} title @param {(Node|string)[]} children @returns {HTMLElement} */
export const section = (title, ...children) => make('section', {}, make('h2', {}, title), ...children)

/** @param {Node|string} text @returns {HTMLElement} */
export const strong = (text) => make('strong', {}, text)

/** @param {string} text @returns {HTMLElement} */
export const quiet = (text) => make('p', { className: 'quiet' }, text)

/** @param {Node[]} buttons @returns {HTMLElement} */
export const actions = (...buttons) => make('div', { className: 'actions' }, ...buttons)

/** @param {string} question @returns {Node[]} */
export const questionOf = (question) =>
  (question ? [make('p', { className: 'question', dir: 'auto' }, question)] : [])

/**
 * Make a choice of one of several options.
 * @param {string} name
 * @param {string} legend
 * @param {[string, string][]} options values and texts
 * @param {string} chosen
 * @returns {HTMLElement}
 */
export function choice(name, legend, options, chosen) {
  const labels = options.map(([value, text]) => make('label', { className: 'option' },
    make('input', { type: 'radio', name, value, checked: value === chosen, autocomplete: 'off' }),
    make('span', { dir: 'auto' }, text)))
  return make('fieldset', {}, make('legend', {}, foreign(legend)), make('div', { className: 'options' }, ...labels))
}

/** @param {[string, Node|string][]} facts @returns {HTMLElement} */
export function factList(facts) {
  return make('dl', {}, ...facts.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))))
}

/** @param {string} digest hexadecimal @returns {HTMLElement} in groups of four, which people can compare */
export function digestText(digest) {
  return make('code', { className: 'digest' }, (digest.match(/.{1,4}/g) ?? []).join(' '))
}

/** @returns {HTMLElement} */
const main = () => /** @type {HTMLElement} */ (document.getElementById('screen'))

/**
 * Show a screen in place of the one before; its heading is where readers go on.
 * @param {string} name of the screen
 * @param {string} kicker what stands above the heading
 * @param {Node|string} heading
 * @param {Node[]} body
 */
export function show(name, kicker, heading, ...body) {
  const title = make('h1', { tabIndex: -1 }, heading)
  const parts = kicker ? [make('p', { className: 'kicker' }, kicker)] : []
  main().replaceChildren(...parts, title, ...body)
  main().dataset.screen = name
  document.title = `${title.textContent} · ballot`
  scrollTo(0, 0)
  title.focus({ preventScroll: true })
}

/** @param {string} text which a screen reader says */
export function announce(text) {
  const status = /** @type {HTMLElement} */ (document.getElementById('status'))
  if (status.textContent !== text) status.textContent = text
}
