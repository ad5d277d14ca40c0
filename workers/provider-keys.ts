/** How agents log in, where they keep their settings and which endpoint they talk to, by whose models those are. */
export const KEYS = {
  anthropic: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_CUSTOM_HEADERS',
    'ANTHROPIC_MODEL',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CONFIG_DIR',
  ],
  openai: [
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'OPENAI_MODEL',
    'OPENAI_ORGANIZATION',
    'CODEX_API_KEY',
    'CODEX_HOME',
  ],
  google: [
    'GEMINI_API_KEY',
    'GEMINI_MODEL',
    'GOOGLE_API_KEY',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_GENAI_USE_VERTEXAI',
  ],
  // `GH_TOKEN` and `GITHUB_TOKEN` are left out on purpose: they can push.
  copilot: [
    'COPILOT_GITHUB_TOKEN',
    'COPILOT_MODEL',
    'COPILOT_OFFLINE',
    'COPILOT_PROVIDER_API_KEY',
    'COPILOT_PROVIDER_AZURE_API_VERSION',
    'COPILOT_PROVIDER_BASE_URL',
    'COPILOT_PROVIDER_BEARER_TOKEN',
    'COPILOT_PROVIDER_HEADERS',
    'COPILOT_PROVIDER_MAX_OUTPUT_TOKENS',
    'COPILOT_PROVIDER_MAX_PROMPT_TOKENS',
    'COPILOT_PROVIDER_MODEL_ID',
    'COPILOT_PROVIDER_TRANSPORT',
    'COPILOT_PROVIDER_TYPE',
    'COPILOT_PROVIDER_WIRE_API',
    'COPILOT_PROVIDER_WIRE_MODEL',
  ],
  others: ['OPENROUTER_API_KEY', 'OPENCODE_API_KEY', 'OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR'],
} as const;

/** For an agent that any provider may serve, and for a program that may be one. */
export const ALL_KEYS: readonly string[] = Object.values(KEYS).flat();
