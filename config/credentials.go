package config

import (
	"net/url"
	"slices"
	"strings"
)

// Credentials are the agent's own: names of variables that no setting, flag or skill lets a script
// have. A * stands for anything. The documentation lists them.
func Credentials() []string {
	return []string{
		// Models. What ends in _API_KEY is not refused by pattern: a script's own keys end so too.
		"AI_GATEWAY_API_KEY", "ALIBABA_CODING_PLAN_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_TOKEN",
		"ANYSCALE_API_KEY", "ARCEEAI_API_KEY", "ARCEE_API_KEY", "AZURE_API_KEY", "AZURE_FOUNDRY_API_KEY", "AZURE_OPENAI_API_KEY",
		"BASETEN_API_KEY", "CEREBRAS_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "COHERE_API_KEY", "COPILOT_GITHUB_TOKEN", "CO_API_KEY",
		"DASHSCOPE_API_KEY", "DEEPINFRA_API_KEY", "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY", "GEMINI_API_KEY", "GLM_API_KEY",
		"GMI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GROK_API_KEY", "GROQ_API_KEY", "HELICONE_API_KEY",
		"HF_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "HUGGINGFACE_API_KEY", "HUGGING_FACE_HUB_TOKEN", "HYPERBOLIC_API_KEY",
		"KILOCODE_API_KEY", "KIMI_API_KEY", "KIMI_CN_API_KEY", "LITELLM_API_KEY", "LITELLM_MASTER_KEY", "LM_API_KEY",
		"MINIMAX_API_KEY", "MINIMAX_CN_API_KEY", "MISTRAL_API_KEY", "MOONSHOT_API_KEY", "NEBIUS_API_KEY", "NOUS_API_KEY",
		"NOVITA_API_KEY", "NVIDIA_API_KEY", "OLLAMA_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY", "OPENCODE_GO_API_KEY",
		"OPENCODE_ZEN_API_KEY", "OPENROUTER_API_KEY", "PERPLEXITY_API_KEY", "QWEN_API_KEY", "REPLICATE_API_KEY",
		"REPLICATE_API_TOKEN", "SAMBANOVA_API_KEY", "SILICONFLOW_API_KEY", "STEPFUN_API_KEY", "TOGETHER_API_KEY",
		"TOKENHUB_API_KEY", "VERCEL_OIDC_TOKEN", "VERTEX_API_KEY", "VOLCENGINE_API_KEY", "VOYAGE_API_KEY", "VOICE_TOOLS_OPENAI_KEY",
		"WATSONX_API_KEY", "XAI_API_KEY", "XIAOMI_API_KEY", "ZAI_API_KEY", "ZHIPUAI_API_KEY", "Z_AI_API_KEY",
		// The same per task, under names made at run time.
		"AUXILIARY_*_API_KEY", "AUXILIARY_*_TOKEN", "DELEGATION_API_KEY",
		// The clouds that serve models.
		"AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
		"AZURE_CLIENT_SECRET", "CLOUDFLARE_API_TOKEN", "DATABRICKS_TOKEN",
		// Tools of the agent: search, pages, speech, pictures, memory, machines.
		"ASSEMBLYAI_API_KEY", "BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY", "BROWSERBASE_API_KEY", "BROWSER_USE_API_KEY", "CAMOFOX_API_KEY",
		"DAYTONA_API_KEY", "DEEPGRAM_API_KEY", "E2B_API_KEY", "ELEVENLABS_API_KEY", "EXA_API_KEY", "FAL_KEY", "FIRECRAWL_API_KEY",
		"FIRECRAWL_GATEWAY_TOKEN", "HONCHO_API_KEY", "JINA_API_KEY", "LANGFUSE_SECRET_KEY", "LANGSMITH_API_KEY", "MEM0_API_KEY",
		"MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "PARALLEL_API_KEY", "RETAINDB_API_KEY", "SEARXNG_URL", "SERPAPI_API_KEY",
		"SERPER_API_KEY", "SUPERMEMORY_API_KEY", "TAVILY_API_KEY", "TINKER_API_KEY", "TOOL_GATEWAY_USER_TOKEN", "WANDB_API_KEY",
		// The agent's accounts elsewhere.
		"API_SERVER_KEY", "DISCORD_BOT_TOKEN", "EMAIL_PASSWORD", "GITHUB_APP_PRIVATE_KEY_PATH", "HASS_TOKEN", "MATRIX_ACCESS_TOKEN",
		"SLACK_APP_TOKEN", "SLACK_BOT_TOKEN", "SUDO_PASSWORD", "TELEGRAM_BOT_TOKEN", "TWILIO_AUTH_TOKEN", "WEBHOOK_SECRET",
		// hermes-exec's own, and the files that hold any of these.
		"HERMES_EXEC_*", "HERMES_*_API_KEY", "HERMES_*_TOKEN",
	}
}

// IsCredential tells whether a variable is one of Credentials, in any case and also with _FILE
// behind it, or one of reserved, which is Settings.ReservedEnv.
func IsCredential(name string, reserved []string) bool {
	name = strings.ToUpper(name)
	same := func(pattern string) bool { return matches(strings.ToUpper(pattern), name) }
	if slices.ContainsFunc(reserved, same) || slices.ContainsFunc(Credentials(), same) {
		return true
	}
	plain, isFile := strings.CutSuffix(name, "_FILE")
	return isFile && IsCredential(plain, reserved)
}

// matches compares a name with a pattern that has at most one *, which stands for one character or
// more.
func matches(pattern, name string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	return len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// secretWords are the parts of names whose values are secrets.
const secretWords = "KEY TOKEN SECRET PASSWORD PASSWD CREDENTIAL AUTH DSN WEBHOOK BEARER"

// IsSecretName tells whether a variable's name says that its value is a secret.
func IsSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(strings.Fields(secretWords), func(word string) bool { return strings.Contains(name, word) })
}

// minSecret is the length in bytes below which a value is too common to be masked.
const minSecret = 8

// Secrets returns the values to mask in what is shown of a run, longest first: those of the
// variables that settings readmit, as environ has them, those that are set under the name of a
// secret, and the credentials of the configuration. Kept tells of a variable that the filter keeps
// anyway, whose value is no secret. Nothing shorter than 8 bytes is masked.
func Secrets(s Settings, environ map[string]string, kept func(name string) bool) []string {
	values := []string{s.Web.BraveAPIKey, s.Web.TavilyAPIKey}
	if u, err := url.Parse(s.Web.SearxngURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		values = append(values, password, u.User.Username())
	}
	for _, name := range slices.Concat(s.EnvPassthrough, s.Docker.ForwardEnv) {
		if !kept(name) {
			values = append(values, environ[name])
		}
	}
	for _, set := range []map[string]string{s.EnvSet, s.Docker.Env, s.SSH.Env} {
		for name, value := range set {
			if IsSecretName(name) {
				values = append(values, value)
			}
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < minSecret })
	slices.SortFunc(values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(values)
}
