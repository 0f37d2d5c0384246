// A WebSocket as a sequence of messages. Close codes and events of loss are not relied on: silence ends it, too.

/** The connection is gone, or never was: try again. */
export class ConnectionLost extends Error {}

export class Channel {
  /** @type {Uint8Array[]} */
  #heard = []
  #isOpen = true
  /** @type {() => void} */
  #wake = () => {}

  /** @param {WebSocket} socket that is open */
  constructor(socket) {
    this.socket = socket
    socket.onmessage = ({ data }) => {
      this.#heard.push(new Uint8Array(data instanceof ArrayBuffer ? data : []))
      this.#wake()
    }
    socket.onclose = () => this.close()
  }

  /**
   * Open a channel.
   * @param {string} address
   * @param {number} seconds in which it has to open
   * @returns {Promise<Channel>}
   * @throws {ConnectionLost}
   */
  static open(address, seconds) {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(address, 'psephos')
      socket.binaryType = 'arraybuffer'
      const timer = setTimeout(() => socket.close(), 1000 * seconds)
      socket.onopen = () => {
        clearTimeout(timer)
        resolve(new Channel(socket))
      }
      socket.onclose = () => {
        clearTimeout(timer)
        reject(new ConnectionLost('the server could not be reached'))
      }
    })
  }

  /** @param {Uint8Array} bytes */
  send(bytes) {
    this.socket.send(/** @type {BufferSource} */ (bytes))
  }

  /**
   * Return the next message.
   * @param {number} seconds after which a silent server counts as lost
   * @returns {Promise<Uint8Array>}
   * @throws {ConnectionLost}
   */
  async receive(seconds) {
    if (!this.#heard.length && this.#isOpen) {
      await new Promise((resolve) => {
        const timer = setTimeout(() => this.close(), 1000 * seconds)
        this.#wake = () => {
          clearTimeout(timer)
          resolve(undefined)
        }
      })
    }
    const message = this.#heard.shift()
    if (!message) throw new ConnectionLost('the connection was lost')
    return message
  }

  /** Close it; what was heard before can still be received. */
  close() {
    this.#isOpen = false
    this.socket.close()
    this.#wake()
  }
}
