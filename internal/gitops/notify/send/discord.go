// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// discordMessage is what webhooks of Discord take: https://discord.com/developers/docs/resources/webhook#execute-webhook
type discordMessage struct {
	Username string         `json:"username"`
	Embeds   []discordEmbed `json:"embeds"`
	// AllowedMentions is empty, so that no text of an event calls anybody.
	AllowedMentions struct {
		Parse []string `json:"parse"`
	} `json:"allowed_mentions"`
}

type discordEmbed struct {
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Color       int            `json:"color"`
	Timestamp   string         `json:"timestamp"`
	Fields      []discordField `json:"fields"`
}

type discordField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Discord's limits: https://discord.com/developers/docs/resources/message#embed-object-embed-limits. All texts of an
// embed together may have 6000 characters: 256 + 2500 + 12 * 2 * 120 are below.
const (
	discordTitleBytes = 256
	discordTextBytes  = 2500
	discordFields     = 12
	discordFieldBytes = 120
	discordUsername   = 80
)

const (
	discordGreen = 0x2EB67D
	discordRed   = 0xE01E5A
)

// composeDiscord writes Discord's own form, and Slack's for an address that ends in /slack.
func composeDiscord(t Target, m Message) (request, error) {
	if u, err := url.Parse(string(t.Address)); err == nil && strings.HasSuffix(u.Path, "/slack") {
		return composeSlack(t, m)
	}
	e := m.Event
	embed := discordEmbed{Title: brief.Fit(objectName(e), discordTitleBytes), Description: brief.Fit(e.Message, discordTextBytes),
		Color: discordGreen, Timestamp: e.Timestamp.UTC().Format(time.RFC3339), Fields: []discordField{}}
	if failed(e) {
		embed.Color = discordRed
	}
	for _, f := range facts(e, discordFields, discordFieldBytes) {
		// Discord refuses fields without a name or value.
		if f.name != "" && f.value != "" {
			embed.Fields = append(embed.Fields, discordField{Name: f.name, Value: f.value})
		}
	}
	message := discordMessage{Username: brief.Fit(cmp.Or(t.Username, e.ReportingController), discordUsername), Embeds: []discordEmbed{embed}}
	message.AllowedMentions.Parse = []string{}
	return request{method: http.MethodPost, url: string(t.Address), body: message}, nil
}
