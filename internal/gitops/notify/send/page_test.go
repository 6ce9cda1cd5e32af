// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
)

const page = "https://yuba.example.com/stacks/apps/web"

// Every service gets the page's address once, as the link that it has for it.
func TestMessagesLeadToThePage(t *testing.T) {
	connector := "https://x.webhook.office.com/webhookb2/a"
	for name, test := range map[string]struct{ kind, address, want string }{
		"Slack":              {notificationv1beta3.SlackProvider, "https://hooks.slack.com/x", `"author_link":"` + page + `"`},
		"Rocket.Chat":        {notificationv1beta3.RocketProvider, "https://rocket.example/x", `"author_link":"` + page + `"`},
		"Discord":            {notificationv1beta3.DiscordProvider, "https://discord.com/api/webhooks/1/x", `"url":"` + page + `"`},
		"Teams":              {notificationv1beta3.MSTeamsProvider, "https://teams.example/x", `"actions":[{"title":"Open in Yuba","type":"Action.OpenUrl","url":"` + page + `"}]`},
		"Teams by connector": {notificationv1beta3.MSTeamsProvider, connector, `"targets":[{"os":"default","uri":"` + page + `"}]`},
		"Matrix":             {notificationv1beta3.Matrix, "https://matrix.example", `- revision: main@sha1:` + commit + `\n` + page + `\n`},
		"a webhook":          {notificationv1beta3.GenericProvider, "https://example.com/x", `"page":"` + page + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			m := message()
			m.Page, m.Event.Metadata["page"] = page, page
			to := target(test.kind, test.address)
			to.Channel = "!room:example.org"
			r, err := composers[test.kind](to, m)
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(r.body)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(body); !strings.Contains(text, test.want) || strings.Count(text, page) != 1 {
				t.Errorf("%s\nwant one %s", text, test.want)
			}
		})
	}
}

// Metadata of an object's author is text, also if it claims to be the page.
func TestMetadataMakesNoLink(t *testing.T) {
	m := message()
	m.Event.Metadata["page"] = "https://evil.example"
	r, err := composeSlack(target(notificationv1beta3.SlackProvider, "https://hooks.slack.com/x"), m)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(r.body)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body); strings.Contains(text, "author_link") || !strings.Contains(text, `{"short":false,"title":"page","value":"https://evil.example"}`) {
		t.Error(text)
	}
}

func TestCommitStatusesLeadToThePage(t *testing.T) {
	for kind := range forges {
		t.Run(kind, func(t *testing.T) {
			s := newService(t, func(w http.ResponseWriter, r asked) {
				if r.method == http.MethodGet {
					io.WriteString(w, "[]") //nolint:errcheck // the test sees what is missing
				}
			})
			m := message()
			m.Page = page
			mustSend(t, target(kind, s.URL+"/org/app"), m)
			all := s.all()
			if last := all[len(all)-1]; last.method != http.MethodPost || !strings.Contains(last.body, `"target_url":"`+page+`"`) {
				t.Errorf("%+v", last)
			}
		})
	}
}
