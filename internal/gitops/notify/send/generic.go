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

// componentHeader contains the recorder of an event.
const componentHeader = "Gotk-Component"

// composeGeneric posts the unchanged event.
func composeGeneric(t Target, m Message) (request, error) {
	r := t.post(m.Event)
	r.header = http.Header{}
	for name, value := range t.Headers {
		r.header.Set(name, value)
	}
	r.header.Set(componentHeader, m.Event.ReportingController)
	return r, nil
}

// composeHMAC posts the event with a signature.
func composeHMAC(t Target, m Message) (request, error) {
	if t.Token == "" {
		return request{}, permanent("the Secret does not have a token to sign with")
	}
	r, err := composeGeneric(t, m)
	if err != nil {
		return r, err
	}
	body, err := json.Marshal(m.Event)
	if err != nil {
		return r, permanent("encode the event: %v. This is a bug in Yuba", err)
	}
	mac := hmac.New(sha256.New, []byte(t.Token))
	mac.Write(body)
	r.body = body
	r.header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return r, nil
}

// composeForward posts the event to another dispatcher, which answers 429 to repeated events.
func composeForward(t Target, m Message) (request, error) {
	r := t.post(m.Event)
	r.taken = http.StatusTooManyRequests
	return r, nil
}
