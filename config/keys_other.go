package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-exec/hermes-exec/internal/discreet"
)

func otherKeys() []key {
	return []key{
		operatorKey(),
		scalar(key{
			name: "web.provider", want: "`searxng`, `brave` or `tavily`", example: "brave",
			help: "who searches; without it the first that is configured, in this order",
		}, oneOf("searxng", "brave", "tavily"), text, func(s *Settings) *string { return &s.Web.Provider }),
		scalar(key{
			name: "web.searxng_url", env: []string{"SEARXNG_URL"}, want: "URL", example: "https://searx.example.org",
			help: "the SearXNG instance",
		}, httpURL, discreet.URL, func(s *Settings) *string { return &s.Web.SearxngURL }),
		scalar(key{
			name: "web.brave_api_key", env: []string{"BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"}, want: "text", example: "${BRAVE_API_KEY}", secret: true,
			help: "the key for Brave Search",
		}, plain, text, func(s *Settings) *string { return &s.Web.BraveAPIKey }),
		scalar(key{
			name: "web.tavily_api_key", env: []string{"TAVILY_API_KEY"}, want: "text", example: "${TAVILY_API_KEY}", secret: true,
			help: "the key for Tavily",
		}, plain, text, func(s *Settings) *string { return &s.Web.TavilyAPIKey }),
		scalar(key{
			name: "web.allow_private", want: "`true` or `false`", example: "true",
			help: "lets the web tools dial every address, 169.254.169.254 too, where a cloud hands out the credentials of its machine",
		}, boolean, strconv.FormatBool, func(s *Settings) *bool { return &s.Web.AllowPrivate }),
		scalar(key{
			name: "timezone", want: "IANA name", example: "Europe/Athens",
			help: "the TZ of scripts; without it that of the environment",
		}, plain, text, func(s *Settings) *string { return &s.Timezone }),
		scalar(key{
			name: "security.redact_secrets", want: "`true` or `false`", example: "false",
			help: "masks known secrets in results; the token of a run always is",
		}, boolean, strconv.FormatBool, func(s *Settings) *bool { return &s.RedactSecrets }),
	}
}

// operatorKey tells of the tools section, which the file's reader takes over as a whole.
func operatorKey() key {
	return key{
		name: "tools", want: "mapping of names to tools", command: true,
		help: "tools of the operator, which scripts do not get yet; none may be called `execute_code` or `delegate_task`",
		show: func(s *Settings) string { return strings.Join(slices.Sorted(maps.Keys(s.OperatorTools)), ",") },
	}
}

// httpURL reads the address of a web server.
func httpURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%q is not a http or https URL", discreet.URL(text))
	}
	return text, nil
}
