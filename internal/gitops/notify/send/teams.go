// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// teamsCard is what a workflow of Teams takes, an adaptive card in a message:
// https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
type teamsCard struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string       `json:"contentType"`
	Content     teamsContent `json:"content"`
}

type teamsContent struct {
	Schema  string         `json:"$schema"`
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Body    []teamsElement `json:"body"`
	Teams   teamsHints     `json:"msteams"`
}

type teamsHints struct {
	Width string `json:"width"`
}

type teamsElement struct {
	Type   string         `json:"type"`
	Items  []teamsElement `json:"items,omitempty"`
	Text   string         `json:"text,omitempty"`
	Size   string         `json:"size,omitempty"`
	Weight string         `json:"weight,omitempty"`
	Color  string         `json:"color,omitempty"`
	Wrap   bool           `json:"wrap,omitempty"`
	Facts  []teamsFact    `json:"facts,omitempty"`
}

type teamsFact struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

// teamsConnector is what the connectors of Office 365 took, which some still have:
// https://learn.microsoft.com/en-us/outlook/actionable-messages/message-card-reference
type teamsConnector struct {
	Type       string         `json:"@type"`
	Context    string         `json:"@context"`
	ThemeColor string         `json:"themeColor"`
	Summary    string         `json:"summary"`
	Sections   []teamsSection `json:"sections"`
}

type teamsSection struct {
	ActivityTitle    string             `json:"activityTitle"`
	ActivitySubtitle string             `json:"activitySubtitle"`
	Facts            []teamsSectionFact `json:"facts"`
}

type teamsSectionFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Teams refuses messages of more than 28 kB.
const (
	teamsTextBytes = 12000
	teamsFacts     = 20
	teamsFactBytes = 250
)

func composeTeams(t Target, m Message) (request, error) {
	r := request{method: http.MethodPost, url: string(t.Address), body: adaptiveCard(m)}
	if u, err := url.Parse(string(t.Address)); err == nil && strings.HasSuffix(u.Hostname(), ".webhook.office.com") {
		r.body = messageCard(m)
	}
	return r, nil
}

func adaptiveCard(m Message) teamsCard {
	text := teamsElement{Type: "TextBlock", Text: brief.Fit(m.Event.Message, teamsTextBytes), Wrap: true}
	if failed(m.Event) {
		text.Color = "attention"
	}
	items := []teamsElement{{Type: "TextBlock", Text: objectName(m.Event), Size: "large", Weight: "bolder", Wrap: true}, text}
	set := teamsElement{Type: "FactSet"}
	for _, f := range facts(m.Event, teamsFacts, teamsFactBytes) {
		set.Facts = append(set.Facts, teamsFact{Title: f.name, Value: f.value})
	}
	if len(set.Facts) > 0 {
		items = append(items, set)
	}
	return teamsCard{Type: "message", Attachments: []teamsAttachment{{
		ContentType: "application/vnd.microsoft.card.adaptive",
		Content: teamsContent{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard",
			// What Teams shows; newer ones it refuses.
			Version: "1.4",
			Body:    []teamsElement{{Type: "Container", Items: items}}, Teams: teamsHints{Width: "Full"}},
	}}}
}

func messageCard(m Message) teamsConnector {
	color := "0076D7"
	if failed(m.Event) {
		color = "FF0000"
	}
	section := teamsSection{ActivityTitle: brief.Fit(m.Event.Message, teamsTextBytes), ActivitySubtitle: objectName(m.Event), Facts: []teamsSectionFact{}}
	for _, f := range facts(m.Event, teamsFacts, teamsFactBytes) {
		section.Facts = append(section.Facts, teamsSectionFact{Name: f.name, Value: f.value})
	}
	return teamsConnector{Type: "MessageCard", Context: "http://schema.org/extensions", ThemeColor: color,
		Summary: objectName(m.Event), Sections: []teamsSection{section}}
}
