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

	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// slackMessage is what chat.postMessage and incoming webhooks take:
// https://docs.slack.dev/reference/methods/chat.postMessage
type slackMessage struct {
	Channel     string            `json:"channel,omitempty"`
	Username    string            `json:"username"`
	Attachments []slackAttachment `json:"attachments"`
}

type slackAttachment struct {
	Color      string       `json:"color"`
	AuthorName string       `json:"author_name"`
	Text       string       `json:"text"`
	MrkdwnIn   []string     `json:"mrkdwn_in"`
	Fields     []slackField `json:"fields"`
}

type slackField struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Short bool   `json:"short"`
}

// slackText are the characters that begin what Slack acts on, such as mentions of everybody.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Slack cuts texts at 40 000 characters, which may become five times that many by escaping.
const (
	slackTextBytes  = 8000
	slackFields     = 50
	slackFieldBytes = 1000
)

func composeSlack(t Target, m Message) (request, error) {
	e := m.Event
	color := "good"
	if failed(e) {
		color = "danger"
	}
	a := slackAttachment{Color: color, AuthorName: objectName(e), Text: slackText.Replace(brief.Fit(e.Message, slackTextBytes)),
		MrkdwnIn: []string{"text"}, Fields: []slackField{}}
	for _, f := range facts(e, slackFields, slackFieldBytes) {
		a.Fields = append(a.Fields, slackField{Title: f.name, Value: slackText.Replace(f.value)})
	}
	header := http.Header{}
	if t.Token != "" {
		header.Set("Authorization", "Bearer "+string(t.Token))
	}
	r := request{method: http.MethodPost, url: string(t.Address), header: header, body: slackMessage{
		Channel: t.Channel, Username: cmp.Or(t.Username, e.ReportingController), Attachments: []slackAttachment{a}}}
	if u, err := url.Parse(string(t.Address)); err == nil && strings.HasSuffix(u.Path, "/api/chat.postMessage") {
		r.check = checkSlack
	}
	return r, nil
}

// slackCode is how Slack names errors.
var slackCode = regexp.MustCompile(`^[a-z_]{1,64}$`)

// checkSlack reads the answer of chat.postMessage, whose status is always 200.
func checkSlack(answer []byte) error {
	var reply struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return permanent("the answer is not one of Slack's")
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
