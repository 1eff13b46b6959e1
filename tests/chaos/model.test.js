// The model is asked, and the server dies: at each point of its own, between any two requests, and through the other of two
// nodes. Every call gets the right result, and its deed was done once.
import { textOf } from '../wire/harness.js';
import { ApartClient, survives } from './apart.js';
import { wordsOf } from './clients.js';
import { SOAK } from './crashers.js';

// A client without elicitation, whose model asks its person.
class ModelClient extends ApartClient {
  answerTool = 'sendElicitationResult';

  constructor(...given) {
    super({}, ...given);
  }

  joined(story, result, twin) {
    if (textOf(twin) !== textOf(result)) throw story.lost(`two ends: ${textOf(result)} and ${textOf(twin)}`);
    return result;
  }

  async rest(story, tag, result) {
    for (let asked; (asked = result._meta?.elicitationPending); ) {
      const [, key] = /the (\w+) word/.exec(asked.message);
      story.note(`asked for the ${key} word`);
      result = await this.request(story, this.answerTool, { elicitId: asked.elicitId, action: 'accept', content: { word: wordsOf(tag)[key] } });
    }
    return result;
  }
}

survives({ what: 'model', Client: ModelClient, args: ['--no-inbox'], points: ['handle_before', 'handle_after', 'pended_after', 'attach_after'], rounds: 40, killMs: SOAK ? 700 : 300 });
