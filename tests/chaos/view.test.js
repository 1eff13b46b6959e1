// A view asks, and the server dies: at each point of its own, between any two requests, and through the other of two nodes.
// Every call gets the right result, and its deed was done once.
import { textOf } from '../wire/harness.js';
import { UI } from '../view/clients.js';
import { ApartClient, survives } from './apart.js';
import { wordsOf } from './clients.js';

// A client that shows views, and one view: its calls are pending after a second, and the view answers.
class ViewClient extends ApartClient {
  answerTool = 'nodAnswer';

  constructor(...given) {
    super(UI, ...given);
  }

  // The end of the call is given to one of them.
  joined(story, result, twin) {
    const ended = [result, twin].filter((one) => one._meta?.nod?.ended);
    if (ended.length === 2 && textOf(result) !== textOf(twin)) throw story.lost(`two ends: ${ended.map(textOf)}`);
    return ended[0] ?? result;
  }

  async rest(story, tag, result) {
    const { callId } = result.structuredContent ?? {};
    while (callId && (result.structuredContent?.pending || result._meta?.nod?.ended === false)) {
      const { questions } = JSON.parse(textOf(await this.request(story, 'nodQuestions', { callId, now: true })));
      for (const { message, nonce } of questions) {
        const [, key] = /the (\w+) word/.exec(message);
        story.note(`asked for the ${key} word`);
        const answered = await this.request(story, this.answerTool, { nonce, action: 'accept', content: { word: wordsOf(tag)[key] } });
        if (answered.isError && !answered._meta?.nod) continue; // answered before, and over for a minute
        result = answered;
        if (result._meta.nod.ended) break;
      }
      if (!questions.length) result = await this.request(story, 'waitForPerson', { callId });
    }
    return result;
  }
}

survives({ what: 'view', Client: ViewClient, args: ['--no-inbox', '--no-model', '--soft-deadline', '1s'], points: ['view_before', 'view_after', 'attach_after', 'collect_before', 'collect_after'], rounds: 8, killMs: 2500 });
