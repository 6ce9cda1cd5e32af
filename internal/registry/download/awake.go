// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"io"
	"time"
)

// Awake passes a stream on, and postpones an alarm whenever something arrives: a slow server may
// take long, a silent one may not.
type Awake struct {
	io.Reader
	Alarm *time.Timer
	// Silence is how long the server may send nothing.
	Silence time.Duration
}

func (a *Awake) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.Alarm.Reset(a.Silence)
	}
	return n, err
}
