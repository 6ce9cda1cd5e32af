// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// slackText escapes the characters of Slack's markup, such as mentions.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Slack cuts texts at 40 000 characters; escaping may multiply them by five.
const (
	slackTextBytes  = 8000
	slackFields     = 50
	slackFieldBytes = 1000
)

// composeSlack composes the format of chat.postMessage and incoming webhooks:
// https://docs.slack.dev/reference/methods/chat.postMessage
func composeSlack(t Target, m Message) (request, error) {
	e := m.Event
	color := "good"
	if failed(e) {
		color = "danger"
	}
	fields := []object{}
	for _, f := range m.facts(slackFields, slackFieldBytes) {
		fields = append(fields, object{"title": f.name, "value": slackText.Replace(f.value), "short": false})
	}
	attachment := object{
		"color":       color,
		"author_name": objectName(e),
		"text":        slackText.Replace(shorten.Fit(e.Message, slackTextBytes)),
		"mrkdwn_in":   []string{"text"},
		"fields":      fields,
	}
	if m.Page != "" {
		attachment["author_link"] = m.Page
	}
	message := object{"username": cmp.Or(t.Username, e.ReportingController), "attachments": []object{attachment}}
	if t.Channel != "" {
		message["channel"] = t.Channel
	}
	r := t.post(message)
	if t.Token != "" {
		r.header = http.Header{"Authorization": {"Bearer " + string(t.Token)}}
	}
	if u, err := url.Parse(string(t.Address)); err == nil && strings.HasSuffix(u.Path, "/api/chat.postMessage") {
		r.check = checkSlack
	}
	return r, nil
}

// slackCode matches the names of Slack's errors.
var slackCode = regexp.MustCompile(`^[a-z_]{1,64}$`)

// checkSlack checks the response of chat.postMessage, whose status is always 200.
func checkSlack(answer []byte) error {
	var reply struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return permanent("the response is not from Slack")
	}
	if reply.OK {
		return nil
	}
	if !slackCode.MatchString(reply.Error) {
		reply.Error = "an error without a name"
	}
	e := permanent("Slack answers: %s", reply.Error)
	switch reply.Error {
	case "ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		e.Again = true
	}
	return e
}
