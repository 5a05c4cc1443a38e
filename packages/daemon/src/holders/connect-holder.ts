import { connect, type Socket } from "node:net";
import {
  ContainOutcome,
  type DurationMs,
  describeIssues,
  ExitStatus,
  Fault,
  HolderInfo,
  HolderRefusal,
  HolderReport,
  NudgeDelivery,
  StopOutcome,
} from "@rouse/contract";
import {
  createFrameReader,
  type Frame,
  type FromHolder,
  inputFrame,
  jsonFrame,
  type MonitorId,
  type Order,
  type OutcomeOf,
  type ToHolder,
} from "@rouse/holder";
import { z } from "zod";

export type Here = Extract<FromHolder, { say: "here" }>;
export type OrderToHolder<O extends Order = Order> = Omit<Extract<ToHolder, { say: "order" }>, "say" | "order"> & {
  readonly order: O;
};

/** The holder answered that it does not know the message: it is of another version. */
export class NotUnderstood extends Fault {
  constructor(problem: string) {
    super("holder-unreachable", `the agent's holder did not understand: ${problem}`, { retryable: true });
  }
}

/** The holder answered, and refuses us. */
export class RefusedByHolder extends Fault {
  readonly because: HolderRefusal;

  constructor(because: HolderRefusal) {
    super("order-refused", `the agent's holder ${refusals[because]}`);
    this.because = because;
  }
}

const refusals: Record<HolderRefusal, string> = {
  "old-epoch": "obeys a newer monitor; `rouse adopt AGENT` takes it over",
  "epoch-too-high": "does not believe this monitor's epoch; `rouse adopt AGENT` takes it over",
  "other-store": "belongs to another database; `rouse adopt AGENT` takes it over",
  "wrong-secret": "does not know the secret in its file; end its process by hand, `rouse ps` shows it",
};

/** Where a holder listens, and its secret; `null`: a holder of an earlier version, which asks for none. */
export interface Door {
  readonly socket: string;
  readonly secret: string | null;
}

export interface HolderConnection {
  say(message: ToHolder): void;
  /** Keys that a person typed, for the agent. */
  typed(bytes: Buffer): void;
  /** Every message of the holder, also answers to `probe` and `order`. Earlier ones are lost, so listen at once. */
  onMessage(listen: (message: FromHolder) => void): void;
  onOutput(listen: (offset: number, bytes: Buffer) => void): void;
  probe(timeoutMs?: DurationMs): Promise<Here>;
  /** Asks for a report of what is true now. A holder of an earlier version would hang up, and is not asked. */
  lookAnew(): void;
  /** May be repeated with the same key: the order is carried out once. */
  order<O extends Order>(order: OrderToHolder<O>, timeoutMs: DurationMs): Promise<OutcomeOf<O>>;
  /** Hands the agent over to this store. */
  adopt(store: string): Promise<void>;
  /** Reads no more until `resume`: for a reader that is slower than the agent. */
  pause(): void;
  resume(): void;
  /** Resolves when the connection has ended, with the reason unless we or the holder ended it. Never rejects. */
  readonly closed: Promise<Fault | null>;
  close(): void;
}

/**
 * Throws `holder-gone` when no process listens there any more, `holder-unreachable` when one might, `RefusedByHolder`
 * when the holder refuses us. Without `monitor` the caller is a person's command.
 */
export async function connectHolder(
  { socket: path, secret }: Door,
  { timeoutMs, monitor = null }: { timeoutMs: DurationMs; monitor?: MonitorId | null },
): Promise<HolderConnection> {
  const socket = connect({ path });
  await connected(socket, path, timeoutMs);
  const { introduce, ...connection } = converse(socket, timeoutMs);
  if (secret === null) return connection;
  try {
    await introduce(secret, monitor);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function connected(socket: Socket, path: string, timeoutMs: DurationMs): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (error: NodeJS.ErrnoException | null) => {
      clearTimeout(timer);
      socket.destroy();
      reject(describeFailure(path, error));
    };
    const timer = setTimeout(() => giveUp(null), timeoutMs);
    socket.once("error", giveUp);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", giveUp);
      resolve();
    });
  });
}

function describeFailure(path: string, error: NodeJS.ErrnoException | null): Fault {
  if (error?.code === "ENOENT" || error?.code === "ECONNREFUSED" || error?.code === "ENOTDIR") {
    return new Fault("holder-gone", `nobody holds the agent any more (${path})`, { cause: error });
  }
  const reason = error === null ? "no answer" : (error.code ?? error.message);
  return unreachable(`the agent's holder at ${path} cannot be reached (${reason})`, error);
}

const unreachable = (message: string, cause?: unknown): Fault =>
  new Fault("holder-unreachable", message, { retryable: true, cause });

/** A question whose answer is awaited. */
interface Ask {
  /** Takes the message if it is the answer. */
  answers(message: FromHolder): boolean;
  fail(fault: Fault): void;
}

interface Conversation extends HolderConnection {
  /** Shows the secret; the first message of a connection. */
  introduce(secret: string, monitor: MonitorId | null): Promise<void>;
}

function converse(socket: Socket, defaultTimeoutMs: DurationMs): Conversation {
  const listeners: ((message: FromHolder) => void)[] = [];
  const outputListeners: ((offset: number, bytes: Buffer) => void)[] = [];
  const asks = new Set<Ask>();
  let lastProbe = 0;
  let knowsLook = false;
  let fault: Fault | null = null;
  let arrived: Frame[] = [];
  const readFrames = createFrameReader((frame) => arrived.push(frame));

  socket.on("data", (chunk) => {
    const nonsense = readSafely(chunk);
    const frames = arrived;
    arrived = [];
    // Outside of any `try`: a listener that throws is our own bug.
    for (const frame of frames) if (fault === null) take(frame);
    if (nonsense !== null) breakOff(nonsense);
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    fault ??= unreachable(`the connection to the agent's holder broke (${error.code ?? error.message})`, error);
  });
  const closed = new Promise<Fault | null>((resolve) => {
    socket.on("close", () => {
      for (const ask of asks) ask.fail(fault ?? new Fault("holder-gone", "the agent's holder hung up"));
      asks.clear();
      resolve(fault);
    });
  });

  const say = (message: ToHolder) => void socket.write(jsonFrame(message));
  return {
    introduce: (secret, monitor) => askFor({ say: "hello", secret, monitor }, "welcome"),
    adopt: (store) => askFor({ say: "adopt", store }, "adopted"),
    say,
    typed: (bytes) => void socket.write(inputFrame(bytes)),
    onMessage: (listen) => void listeners.push(listen),
    onOutput: (listen) => void outputListeners.push(listen),
    probe(timeoutMs = defaultTimeoutMs) {
      lastProbe += 1;
      const id = lastProbe;
      return ask(
        { say: "probe", id },
        (message) => (message.say === "here" && message.id === id ? message : null),
        timeoutMs,
      );
    },
    lookAnew() {
      if (knowsLook) say({ say: "look" });
    },
    order<O extends Order>(order: OrderToHolder<O>, timeoutMs: DurationMs) {
      const outcome = (message: FromHolder) =>
        message.say === "carried-out" && message.key === order.key && answersTo(order.order, message.outcome)
          ? message.outcome
          : null;
      return ask({ say: "order", ...order }, outcome, timeoutMs);
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    closed,
    close: () => void socket.destroy(),
  };

  function readSafely(chunk: Buffer): Error | null {
    try {
      readFrames(chunk);
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  function take(frame: Frame): void {
    switch (frame.kind) {
      case "output":
        for (const listen of outputListeners) listen(frame.offset, frame.bytes);
        return;
      case "input":
        return breakOff(new Error("typed input from a holder"));
      case "json": {
        const parsed = Message.safeParse(frame.value);
        if (!parsed.success) return breakOff(new Error(describeIssues(parsed.error.issues, "the message")));
        hear(parsed.data);
      }
    }
  }

  function hear(message: FromHolder): void {
    // The holder does not say which message it means, so every question fails.
    const failure =
      message.say === "misunderstood"
        ? new NotUnderstood(message.problem)
        : message.say === "refused"
          ? new RefusedByHolder(message.because)
          : null;
    if (message.say === "watched") knowsLook = message.knowsLook === true;
    for (const one of asks) {
      if (failure !== null) one.fail(failure);
      if (failure !== null || one.answers(message)) asks.delete(one);
    }
    for (const listen of listeners) listen(message);
  }

  function breakOff(reason: Error): void {
    fault ??= unreachable(`what listens at the holder's socket is no holder: ${reason.message}`, reason);
    socket.destroy();
  }

  async function askFor(message: ToHolder, answer: FromHolder["say"]): Promise<void> {
    await ask(message, ({ say }) => (say === answer ? true : null), defaultTimeoutMs);
  }

  function ask<T>(message: ToHolder, answer: (message: FromHolder) => T | null, timeoutMs: DurationMs): Promise<T> {
    if (socket.destroyed) return Promise.reject(fault ?? new Fault("holder-gone", "the agent's holder hung up"));
    return new Promise<T>((resolve, reject) => {
      const one: Ask = {
        answers(heard) {
          const found = answer(heard);
          if (found === null) return false;
          clearTimeout(timer);
          resolve(found);
          return true;
        },
        fail(reason) {
          clearTimeout(timer);
          reject(reason);
        },
      };
      const timer = setTimeout(() => {
        asks.delete(one);
        reject(unreachable(`the agent's holder did not answer within ${timeoutMs} ms`));
      }, timeoutMs);
      asks.add(one);
      say(message);
    });
  }
}

/** Holders remember the keys of each kind of order apart, so orders of different kinds may have the same key. */
function answersTo<O extends Order>(order: O, outcome: OutcomeOf<Order>): outcome is OutcomeOf<O> {
  return order.kind === orderOf[outcome.kind];
}

const orderOf: Readonly<Record<OutcomeOf<Order>["kind"], Order["kind"]>> = {
  stopped: "stop",
  "already-over": "stop",
  termination_incomplete: "stop",
  refused: "stop",
  sent: "nudge",
  "not-sent": "nudge",
  contained: "contain",
  "let-go": "contain",
  "not-contained": "contain",
};

const Message: z.ZodType<FromHolder> = z.discriminatedUnion("say", [
  z.object({ say: z.literal("welcome") }),
  z.object({ say: z.literal("refused"), because: HolderRefusal }),
  z.object({ say: z.literal("adopted") }),
  z.object({
    say: z.literal("here"),
    id: z.number().int(),
    hold: HolderInfo,
    exit: ExitStatus.nullable(),
    outputEnd: z.number(),
    lastReport: z.number().int(),
    store: z.string().nullable().optional(),
    epoch: z.number().int().nullable().optional(),
  }),
  z.object({ say: z.literal("watched"), hold: HolderInfo, knowsLook: z.boolean().optional() }),
  z.object({ say: z.literal("replaced") }),
  z.object({ say: z.literal("report"), report: HolderReport }),
  z.object({
    say: z.literal("carried-out"),
    key: z.string(),
    outcome: z.union([StopOutcome, NudgeDelivery, ContainOutcome]),
  }),
  z.object({
    say: z.literal("attached"),
    size: z.object({ cols: z.number().int().min(2).max(1000), rows: z.number().int().min(2).max(1000) }),
  }),
  z.object({ say: z.literal("end"), at: z.number() }),
  z.object({ say: z.literal("exited"), exit: ExitStatus }),
  z.object({ say: z.literal("misunderstood"), problem: z.string() }),
]);
