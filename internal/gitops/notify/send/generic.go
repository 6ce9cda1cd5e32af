// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
)

// componentHeader names who recorded an event.
const componentHeader = "Gotk-Component"

// composeGeneric posts the event as it is.
func composeGeneric(t Target, m Message) (request, error) {
	header := http.Header{}
	for name, value := range t.Headers {
		header.Set(name, value)
	}
	header.Set(componentHeader, m.Event.ReportingController)
	return request{method: http.MethodPost, url: string(t.Address), header: header, body: m.Event}, nil
}

// composeHMAC posts the event with a signature of its very bytes.
func composeHMAC(t Target, m Message) (request, error) {
	if t.Token == "" {
		return request{}, permanent("the Secret has no token to sign with")
	}
	r, err := composeGeneric(t, m)
	if err != nil {
		return r, err
	}
	body, err := json.Marshal(m.Event)
	if err != nil {
		return r, permanent("put the event together: %v. This is a bug in Yuba", err)
	}
	mac := hmac.New(sha256.New, []byte(t.Token))
	mac.Write(body)
	r.body = body
	r.header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return r, nil
}

// composeForward posts the event to another dispatcher, which answers that there were too many requests when it has heard
// the same lately.
func composeForward(t Target, m Message) (request, error) {
	return request{method: http.MethodPost, url: string(t.Address), body: m.Event, taken: []int{http.StatusTooManyRequests}}, nil
}
