// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Place describes the Pods that may execute a run. Runs with equal places may share a Pod, one after
// the other. Runs beside the server have no place.
type Place struct {
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
	// Template is the stack's spec.runnerPodTemplate without its environment, which belongs to the
	// run; nil for none.
	Template json.RawMessage `json:"template,omitempty"`
	// Audiences are those of the tokens that the Pod has for its runs.
	Audiences []string `json:"audiences,omitempty"`
	// Grace is how long the Pod may take to end.
	Grace Duration `json:"grace,omitempty"`
	// Alone is the run that has the place for itself; empty for shared places.
	Alone string `json:"alone,omitempty"`
}

// placeKeyBytes makes keys short enough for names and labels, and long enough that nobody finds two
// templates with the same.
const placeKeyBytes = 10

// Key identifies the place, in lower-case hexadecimal digits. A nil place has the empty key.
func (p *Place) Key() string {
	if p == nil {
		return ""
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %d %q", p.Namespace, p.ServiceAccount, p.Template, p.Audiences, p.Grace, p.Alone)
	return hex.EncodeToString(sum.Sum(nil)[:placeKeyBytes])
}
