// A client as its author would write it: it handles every notification and every item by name, and
// the compiler tells when one is missing. `@generated` stands for the folder of generated types.

import type { ClientRequest, ServerNotification, ServerRequest, ThreadStartClientRequest } from "@generated";
import type { v2 } from "@generated";
import type { AgentMessageThreadItem, ThreadItem } from "@generated/v2";

function assertNever(value: never): never {
  throw new Error(`not handled: ${JSON.stringify(value)}`);
}

export function family(method: ServerNotification["method"]): string {
  switch (method) {
    case "error":
    case "thread/started":
    case "thread/status/changed":
    case "thread/archived":
    case "thread/unarchived":
    case "thread/closed":
    case "skills/changed":
    case "thread/name/updated":
    case "thread/tokenUsage/updated":
    case "turn/started":
    case "hook/started":
    case "thread/deleted":
    case "thread/settings/updated":
    case "warning":
    case "turn/completed":
    case "hook/completed":
    case "turn/diff/updated":
    case "turn/plan/updated":
    case "item/started":
    case "item/autoApprovalReview/started":
    case "item/autoApprovalReview/completed":
    case "item/completed":
    case "rawResponseItem/completed":
    case "item/agentMessage/delta":
    case "item/plan/delta":
    case "command/exec/outputDelta":
    case "item/commandExecution/outputDelta":
    case "item/commandExecution/terminalInteraction":
    case "item/fileChange/outputDelta":
    case "serverRequest/resolved":
    case "item/mcpToolCall/progress":
    case "mcpServer/oauthLogin/completed":
    case "mcpServer/startupStatus/updated":
    case "account/updated":
    case "account/rateLimits/updated":
    case "app/list/updated":
    case "fs/changed":
    case "item/reasoning/summaryTextDelta":
    case "item/reasoning/summaryPartAdded":
    case "item/reasoning/textDelta":
    case "thread/compacted":
    case "model/rerouted":
    case "deprecationNotice":
    case "configWarning":
    case "fuzzyFileSearch/sessionUpdated":
    case "fuzzyFileSearch/sessionCompleted":
    case "thread/search/partial":
    case "thread/realtime/started":
    case "thread/realtime/itemAdded":
    case "thread/realtime/transcriptUpdated":
    case "thread/realtime/outputAudio/delta":
    case "thread/realtime/error":
    case "thread/realtime/closed":
    case "windows/worldWritableWarning":
    case "windowsSandbox/setupCompleted":
    case "account/login/completed":
    case "account/gatewayOAuth/changed":
    case "autoApprovalReview/strictReviewRequired":
    case "externalAgentConfig/import/completed":
    case "externalAgentConfig/import/progress":
    case "guardianWarning":
    case "item/fileChange/patchUpdated":
    case "mcpServer/event/stream/notification":
    case "model/safetyBuffering/updated":
    case "model/verification":
    case "modelProvider/authRecoveryCompleted":
    case "modelProvider/authRecoveryStarted":
    case "process/exited":
    case "process/outputDelta":
    case "project/changed":
    case "remoteControl/status/changed":
    case "thread/attachment/updated":
    case "thread/checkpoint/created":
    case "thread/checkpoint/restored":
    case "thread/environment/connected":
    case "thread/environment/disconnected":
    case "thread/goal/cleared":
    case "thread/goal/updated":
    case "thread/prediction/updated":
    case "thread/project/updated":
    case "thread/queue/changed":
    case "thread/readState/changed":
    case "thread/realtime/item/completed":
    case "thread/realtime/item/started":
    case "thread/realtime/item/transcript/delta":
    case "thread/realtime/sdp":
    case "thread/realtime/transcript/delta":
    case "thread/realtime/transcript/done":
    case "thread/reverted":
    case "thread/section/changed":
    case "turn/moderationMetadata":
      return method.split("/")[0] ?? method;
    default:
      return assertNever(method);
  }
}

export function title(type: ThreadItem["type"]): string {
  switch (type) {
    case "userMessage":
    case "hookPrompt":
    case "agentMessage":
    case "plan":
    case "reasoning":
    case "commandExecution":
    case "fileChange":
    case "mcpToolCall":
    case "dynamicToolCall":
    case "collabAgentToolCall":
    case "webSearch":
    case "imageView":
    case "imageGeneration":
    case "enteredReviewMode":
    case "exitedReviewMode":
    case "contextCompaction":
    case "functionCallOutput":
    case "subAgentActivity":
      return type;
    default:
      return assertNever(type);
  }
}

// A variant can be named, and narrowing by the tag leads to it.
export function text(item: ThreadItem): string {
  if (item.type === "agentMessage") {
    const message: AgentMessageThreadItem = item;
    return message.text;
  }
  return item.type === "commandExecution" ? item.command : "";
}

// Narrowing by the method leads to the params.
export function threadOf(notification: ServerNotification): string | undefined {
  return notification.method === "turn/started" ? notification.params.threadId : undefined;
}

// What may be left out of a request need not be there; what we always write is.
export const start: ThreadStartClientRequest = { id: 1, method: "thread/start", params: { model: "m" } };
export const anyRequest: ClientRequest = start;
export const name = (thread: v2.Thread): string | null => thread.name;
export const decided = (request: ServerRequest): boolean => request.method === "item/fileChange/requestApproval";
