// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Limits of discord.com/developers/docs/resources/message#embed-object-embed-limits: an embed's
// texts may have 6000 characters together; 256 + 2500 + 12 * 2 * 120 are below.
const (
	discordTitleBytes = 256
	discordTextBytes  = 2500
	discordFields     = 12
	discordFieldBytes = 120
	discordUsername   = 80

	discordGreen = 0x2EB67D
	discordRed   = 0xE01E5A
)

// composeDiscord composes Discord's own format, or Slack's for an address that ends in /slack:
// https://discord.com/developers/docs/resources/webhook#execute-webhook
func composeDiscord(t Target, m Message) (request, error) {
	if u, err := url.Parse(string(t.Address)); err == nil && strings.HasSuffix(u.Path, "/slack") {
		return composeSlack(t, m)
	}
	e := m.Event
	color := discordGreen
	if failed(e) {
		color = discordRed
	}
	fields := []object{}
	for _, f := range m.facts(discordFields, discordFieldBytes) {
		// Discord refuses fields without a name or value.
		if f.name != "" && f.value != "" {
			fields = append(fields, object{"name": f.name, "value": f.value})
		}
	}
	embed := object{
		"title":       shorten.Fit(objectName(e), discordTitleBytes),
		"description": shorten.Fit(e.Message, discordTextBytes),
		"color":       color,
		"timestamp":   e.Timestamp.UTC().Format(time.RFC3339),
		"fields":      fields,
	}
	if m.Page != "" {
		embed["url"] = m.Page
	}
	return t.post(object{
		"username": shorten.Fit(cmp.Or(t.Username, e.ReportingController), discordUsername),
		"embeds":   []object{embed},
		// No text of an event may notify anybody.
		"allowed_mentions": object{"parse": []string{}},
	}), nil
}
