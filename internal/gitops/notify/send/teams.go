// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"net/url"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Teams refuses messages of more than 28 kB.
const (
	teamsTextBytes = 12000
	teamsFacts     = 20
	teamsFactBytes = 250
	// teamsOpen is the label of the button that opens the page.
	teamsOpen = "Open in Yuba"
)

func composeTeams(t Target, m Message) (request, error) {
	if u, err := url.Parse(string(t.Address)); err == nil && strings.HasSuffix(u.Hostname(), ".webhook.office.com") {
		return t.post(messageCard(m)), nil
	}
	return t.post(adaptiveCard(m)), nil
}

// adaptiveCard returns the message for a workflow of Teams:
// learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
func adaptiveCard(m Message) object {
	e := m.Event
	text := object{"type": "TextBlock", "text": shorten.Fit(e.Message, teamsTextBytes), "wrap": true}
	if failed(e) {
		text["color"] = "attention"
	}
	items := []object{{"type": "TextBlock", "text": objectName(e), "size": "large", "weight": "bolder", "wrap": true}, text}
	if set := teamsFactSet(m, "title"); len(set) > 0 {
		items = append(items, object{"type": "FactSet", "facts": set})
	}
	card := object{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"type":    "AdaptiveCard",
		"version": "1.4", // Teams refuses newer versions
		"body":    []object{{"type": "Container", "items": items}},
		"msteams": object{"width": "Full"},
	}
	if m.Page != "" {
		card["actions"] = []object{{"type": "Action.OpenUrl", "title": teamsOpen, "url": m.Page}}
	}
	return object{"type": "message", "attachments": []object{{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
}

// messageCard returns the message for a connector of Office 365, the predecessor of workflows:
// https://learn.microsoft.com/en-us/outlook/actionable-messages/message-card-reference
func messageCard(m Message) object {
	e := m.Event
	color := "0076D7"
	if failed(e) {
		color = "FF0000"
	}
	card := object{
		"@type":      "MessageCard",
		"@context":   "http://schema.org/extensions",
		"themeColor": color,
		"summary":    objectName(e),
		"sections": []object{{
			"activityTitle":    shorten.Fit(e.Message, teamsTextBytes),
			"activitySubtitle": objectName(e),
			"facts":            teamsFactSet(m, "name"),
		}},
	}
	if m.Page != "" {
		card["potentialAction"] = []object{{"@type": "OpenUri", "name": teamsOpen, "targets": []object{{"os": "default", "uri": m.Page}}}}
	}
	return card
}

func teamsFactSet(m Message, nameKey string) []object {
	set := []object{}
	for _, f := range m.facts(teamsFacts, teamsFactBytes) {
		set = append(set, object{nameKey: f.name, "value": f.value})
	}
	return set
}
