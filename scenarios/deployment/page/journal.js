// What this page keeps on the device, in IndexedDB. A record is there once its transaction is complete, and none takes
// another's place: a reload, a crash or a second tab finds the same bytes. All cryptography is done before one begins.

/** The device does not store what has to be there before anything is sent. */
export class StorageFault extends Error {
  /** @param {DOMException|Error|null} cause */
  constructor(cause) {
    super(cause?.message ?? 'the storage was closed')
    this.isFull = cause?.name === 'QuotaExceededError'
  }
}

const STORES = /** @type {const} */ (['keys', 'records'])
/** @typedef {typeof STORES[number]} Store */

export class Journal {
  /** @type {IDBDatabase} */
  #database
  /** @type {string} */
  #seat

  /** @param {IDBDatabase} database @param {string} seat */
  constructor(database, seat) {
    this.#database = database
    this.#seat = seat
  }

  /**
   * Open the journal of a seat.
   * @param {string} seat the session's id and the place in its roster
   * @param {() => void} onLost called when the browser takes the storage away
   * @returns {Promise<Journal>}
   * @throws {StorageFault}
   */
  static open(seat, onLost) {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open('psephos', 1)
      request.onupgradeneeded = () => STORES.forEach((name) => request.result.createObjectStore(name))
      request.onerror = () => reject(new StorageFault(request.error))
      request.onsuccess = () => {
        request.result.onclose = onLost
        resolve(new Journal(request.result, seat))
      }
    })
  }

  /** @returns {Promise<Map<string, any>>} the seat's records, by name */
  async records() {
    const names = IDBKeyRange.bound([this.#seat], [this.#seat, []])
    const [keys, values] = await this.#transact('records', 'readonly', (store) =>
      /** @type {const} */ ([store.getAllKeys(names), store.getAll(names)]))
    const found = /** @type {string[][]} */ (keys.result)
    return new Map(found.map(([, name], place) => [name, values.result[place]]))
  }

  /**
   * Keep a record; once this is done, it is on the device.
   * @template T
   * @param {string} name
   * @param {T} value
   * @param {Store} [store]
   * @returns {Promise<T>} the record of this name that is there, which may be an earlier one
   * @throws {StorageFault} it is not
   */
  async keep(name, value, store = 'records') {
    const key = [this.#seat, name]
    const found = await this.#transact(store, 'readwrite', (objects) => {
      const request = objects.get(key)
      request.onsuccess = () => {
        if (request.result === undefined) objects.add(value, key)
      }
      return request
    })
    return found.result ?? value
  }

  /** @param {string} name @returns {Promise<any>} a key pair, if there is one */
  async key(name) {
    return (await this.#transact('keys', 'readonly', (store) => store.get([this.#seat, name]))).result
  }

  /** Forget what nothing needs any more. @param {string} name @param {Store} [store] @returns {Promise<any>} */
  forget(name, store = 'records') {
    return this.#transact(store, 'readwrite', (objects) => objects.delete([this.#seat, name]))
  }

  /**
   * @template T
   * @param {Store} name
   * @param {IDBTransactionMode} mode
   * @param {(store: IDBObjectStore) => T} act
   * @returns {Promise<T>}
   */
  #transact(name, mode, act) {
    return new Promise((resolve, reject) => {
      try {
        const transaction = this.#database.transaction(name, mode, { durability: 'strict' })
        const result = act(transaction.objectStore(name))
        transaction.oncomplete = () => resolve(result)
        transaction.onabort = () => reject(new StorageFault(transaction.error))
      } catch (error) {
        reject(new StorageFault(/** @type {Error} */ (error)))
      }
    })
  }
}
