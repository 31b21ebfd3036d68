// A small client of efrd, typed by what a generator makes of docs/protocol.schema.json.
//
//     node client.js SOCKET PROMPT
//
// It says hello, sends the prompt, follows the answer, and prints what it sees. Framing, requests
// and events are as docs/protocol.md tells them.

import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import type {
  ClientFrame,
  EfrProtocol,
  ErrorBody,
  Event,
  KnownEvent,
  ServerFrame,
} from "./protocol.js";

type Methods = EfrProtocol["methods"];
type Method = keyof Methods;
type Params<M extends Method> = Methods[M]["params"];
type Answer<M extends Method> = Methods[M] extends { result: infer R }
  ? R
  : Methods[M] extends { item: infer I }
    ? I
    : never;

const PROTOCOL = 1;
const PREFIX = 4;
const MAX_FRAME = 16 * 1024 * 1024;

function pack(frame: ClientFrame): Buffer {
  const body = Buffer.from(JSON.stringify(frame));
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(body.length);
  return Buffer.concat([prefix, body]);
}

/** Cuts received bytes into frames, however they arrive. */
class FrameReader {
  private held = Buffer.alloc(0);

  feed(data: Buffer): ServerFrame[] {
    this.held = Buffer.concat([this.held, data]);
    const frames: ServerFrame[] = [];
    while (this.held.length >= PREFIX) {
      const length = this.held.readUInt32BE();
      if (length > MAX_FRAME) throw new Error(`a frame of ${length} bytes`);
      if (this.held.length < PREFIX + length) break;
      const body = this.held.subarray(PREFIX, PREFIX + length);
      frames.push(JSON.parse(body.toString("utf8")) as ServerFrame);
      this.held = this.held.subarray(PREFIX + length);
    }
    return frames;
  }
}

class Refused extends Error {
  constructor(readonly body: ErrorBody) {
    super(`${body.code}: ${body.message}`);
  }
}

interface Waiting {
  item(item: unknown): void;
  done(error?: ErrorBody): void;
}

class Connection {
  private readonly reader = new FrameReader();
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;

  constructor(private readonly socket: Socket) {
    socket.on("data", (data: Buffer) => this.reader.feed(data).forEach((f) => this.take(f)));
  }

  /** A unary method: its one item. */
  async call<M extends Method>(method: M, params: Params<M>): Promise<Answer<M>> {
    const items: Answer<M>[] = [];
    await this.stream(method, params, (item) => items.push(item)).ended;
    const [only] = items;
    if (only === undefined) throw new Error(`${method} ended without an item`);
    return only;
  }

  stream<M extends Method>(
    method: M,
    params: Params<M>,
    take: (item: Answer<M>) => void,
  ): { ended: Promise<void>; cancel: () => void } {
    const id = ++this.lastId;
    const ended = new Promise<void>((resolve, reject) => {
      this.waiting.set(id, {
        item: (item) => take(item as Answer<M>),
        done: (error) => (error ? reject(new Refused(error)) : resolve()),
      });
    });
    this.socket.write(pack({ id, method, params }));
    return { ended, cancel: () => this.socket.write(pack({ cancel: id })) };
  }

  private take(frame: ServerFrame): void {
    if ("ack" in frame) return;
    if (frame.id === undefined) throw new Error("the daemon gives this connection up");
    const waiting = this.waiting.get(frame.id);
    if ("item" in frame) {
      waiting?.item(frame.item);
      return;
    }
    this.waiting.delete(frame.id);
    waiting?.done("error" in frame ? frame.error : undefined);
  }
}

/** Narrows to one kind. `Event` also holds unknown kinds, so `switch` alone does not. */
function is<K extends KnownEvent["kind"]>(
  event: Event,
  kind: K,
): event is Extract<KnownEvent, { kind: K }> {
  return event.kind === kind;
}

/** The text of one message: offsets count bytes of UTF-8, never `text.length`. */
class Message {
  text = "";

  add(offset: number, delta: string): void {
    if (offset !== Buffer.byteLength(this.text)) throw new Error(`a gap before ${offset}`);
    this.text += delta;
  }
}

const message = new Message();

/** Prints an event; true when the turn is over. */
function show(event: Event): boolean {
  if (is(event, "turn_started")) {
    console.log(`runs in ${event.cwd} with ${event.settings?.mode ?? "an old mode"}`);
  } else if (is(event, "assistant_message_updated")) {
    message.add(event.offset, event.delta);
  } else if (is(event, "assistant_message_completed")) {
    console.log(`${event.text === message.text ? "says" : "corrects"}: ${event.text}`);
  } else if (is(event, "tool_call_started")) {
    const grants = event.launch?.kind === "contained" ? (event.launch.grants ?? []) : [];
    console.log(`calls ${event.tool} with ${grants.map((grant) => grant.kind).join(", ")}`);
  } else if (is(event, "turn_failed")) {
    console.log(`failed: ${event.error.code}`);
    return true;
  } else if (is(event, "turn_completed")) {
    console.log("done");
    return true;
  } else {
    console.log(`steps over ${event.kind}`);
  }
  return false;
}

async function main(path: string, prompt: string): Promise<void> {
  const socket = connect(path);
  const efr = new Connection(socket);
  const hello = await efr.call("hello", {
    protocol: PROTOCOL,
    origin: "cli",
    client: "client.ts",
    capabilities: {},
  });
  console.log(`efrd ${hello.version}, live: ${hello.capabilities?.snapshot_live ?? false}`);
  const sent = await efr.call("prompt.send", {
    command_id: randomUUID(),
    text: prompt,
    settings: { mode: "cautious" },
  });
  const { conversation_id, seq } = sent;
  const follow = efr.stream(
    "conversation.subscribe",
    { conversation_id, after_seq: seq, drafts: true },
    (item) => {
      switch (item.kind) {
        case "event":
          if (show(item.event)) follow.cancel();
          break;
        case "snapshot":
          item.events.forEach((envelope) => show(envelope.event));
          break;
        case "draft":
          if (item.draft.kind === "text") console.log(`draft: ${item.draft.delta}`);
          break;
      }
    },
  );
  await follow.ended.catch((error: unknown) => {
    if (!(error instanceof Refused) || error.body.code !== "cancelled") throw error;
  });
  socket.end();
}

await main(process.argv[2] ?? "", process.argv[3] ?? "");
