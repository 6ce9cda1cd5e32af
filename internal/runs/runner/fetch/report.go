// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/network"
)

// report collects what the relay of a download refuses. The nil report has nothing.
type report struct {
	of          *confinement.Relay
	read, write *os.File
	text        Bounded
	copied      sync.WaitGroup
}

// reportPatience is how long a relay may take to end after its program, reportBytes what is kept.
const (
	reportPatience = time.Second
	reportBytes    = 16 << 10
)

func openReport(of *confinement.Relay) (*report, error) {
	if of == nil {
		return nil, nil //nolint:nilnil // the download has the machine's network
	}
	r := &report{of: of, text: Bounded{Limit: reportBytes}}
	var err error
	if r.read, r.write, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("create a pipe for the report of the network: %w", err)
	}
	r.copied.Go(func() { _, _ = io.Copy(&r.text, r.read) })
	return r, nil
}

// relay is the relay with this report.
func (r *report) relay() *confinement.Relay {
	if r == nil {
		return nil
	}
	relay := *r.of
	relay.Report = r.write
	return &relay
}

// close returns the notices.
func (r *report) close() (notices []string) {
	if r == nil {
		return nil
	}
	r.write.Close() //nolint:errcheck // the relay has its own
	_ = r.read.SetReadDeadline(time.Now().Add(reportPatience))
	r.copied.Wait()
	r.read.Close() //nolint:errcheck // it was read
	for line := range strings.Lines(string(r.text.Bytes())) {
		if line = strings.TrimSpace(line); network.IsNotice(line) {
			notices = append(notices, line)
		}
	}
	return notices
}

// explained adds the first notice that explains a failure to its text.
func explained(failure string, notices []string) string {
	for _, line := range notices {
		if network.Explains(line, failure) {
			return failure + "\n" + strings.ToUpper(line[:1]) + line[1:]
		}
	}
	return failure
}
