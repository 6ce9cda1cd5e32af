// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/brief"
)

// matrixMessage is the content of an event m.room.message: https://spec.matrix.org/v1.11/client-server-api/#mtext
type matrixMessage struct {
	MsgType string `json:"msgtype"`
	Body    string `json:"body"`
}

// Matrix refuses events of more than 65 536 bytes.
const (
	matrixTextBytes = 30000
	matrixFacts     = 20
	matrixFactBytes = 500
)

// composeMatrix puts the message into a room. The transaction has the message's id, so that a server that took it in an
// attempt whose answer was lost does not show it twice.
func composeMatrix(t Target, m Message) (request, error) {
	if t.Channel == "" {
		return request{}, permanent("spec.channel names no room, such as !1234567890:example.org")
	}
	if t.Token == "" {
		return request{}, permanent("the Secret has no token")
	}
	mark := "💫"
	if failed(m.Event) {
		mark = "🚨"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n%s\n", mark, objectName(m.Event), brief.Fit(m.Event.Message, matrixTextBytes))
	for _, f := range facts(m.Event, matrixFacts, matrixFactBytes) {
		fmt.Fprintf(&text, "- %s: %s\n", f.name, f.value)
	}
	return request{
		method: http.MethodPut,
		url: strings.TrimRight(string(t.Address), "/") + "/_matrix/client/v3/rooms/" + url.PathEscape(t.Channel) +
			"/send/m.room.message/" + url.PathEscape(m.ID),
		header: http.Header{"Authorization": {"Bearer " + string(t.Token)}},
		body:   matrixMessage{MsgType: "m.text", Body: text.String()},
	}, nil
}
