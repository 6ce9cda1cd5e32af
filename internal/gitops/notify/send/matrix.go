// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Matrix refuses events of more than 65 536 bytes.
const (
	matrixTextBytes = 30000
	matrixFacts     = 20
	matrixFactBytes = 500
)

// composeMatrix composes an m.room.message: https://spec.matrix.org/v1.11/client-server-api/#mtext.
// The message's ID is the transaction's, so that a retry does not show it twice.
func composeMatrix(t Target, m Message) (request, error) {
	if t.Channel == "" {
		return request{}, permanent("spec.channel must name a room, such as !1234567890:example.org")
	}
	if t.Token == "" {
		return request{}, permanent("the Secret does not have a token")
	}
	mark := "💫"
	if failed(m.Event) {
		mark = "🚨"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n%s\n", mark, objectName(m.Event), shorten.Fit(m.Event.Message, matrixTextBytes))
	for _, f := range m.facts(matrixFacts, matrixFactBytes) {
		fmt.Fprintf(&text, "- %s: %s\n", f.name, f.value)
	}
	if m.Page != "" {
		fmt.Fprintf(&text, "%s\n", m.Page)
	}
	return request{
		method: http.MethodPut,
		url: strings.TrimRight(string(t.Address), "/") + "/_matrix/client/v3/rooms/" + url.PathEscape(t.Channel) +
			"/send/m.room.message/" + url.PathEscape(m.ID),
		header: http.Header{"Authorization": {"Bearer " + string(t.Token)}},
		body:   object{"msgtype": "m.text", "body": text.String()},
	}, nil
}
