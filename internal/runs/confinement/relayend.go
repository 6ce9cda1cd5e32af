// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

// relayWatch reports a relay that ends before its program. Otherwise connections of the program hang,
// and nothing says why. A later runner, which is not the relay's parent, watches it by its pid.
type relayWatch struct {
	// report is the relay's, errs its standard error. Each is nil if there is none.
	report, errs *os.File
}

// watchRelay prepares a relay that is about to start. Its standard error is a file in memory: it must
// not end with this process, as a pipe does.
func watchRelay(relay *exec.Cmd, report *os.File) relayWatch {
	var w relayWatch
	if report == nil {
		return w
	}
	relay.Stdout = report
	if fd, err := unix.FcntlInt(report.Fd(), unix.F_DUPFD_CLOEXEC, 0); err == nil { // the caller closes its own
		w.report = os.NewFile(uintptr(fd), report.Name()) //nolint:gosec // descriptors are not negative
	}
	if fd, err := unix.MemfdCreate("relay", unix.MFD_CLOEXEC); err == nil {
		w.errs = os.NewFile(uintptr(fd), "errors of the relay") //nolint:gosec // descriptors are not negative
		relay.Stderr = w.errs
	}
	return w
}

// await waits for the end of the relay, which exits with 0 only after its program.
func (w relayWatch) await(relay *exec.Cmd) {
	defer w.close()
	err := relay.Wait()
	if err == nil || w.report == nil {
		return
	}
	why := err.Error()
	if first := w.firstError(); first != "" {
		why += ": " + first
	}
	ReportRelayEnd(w.report, why)
}

// ReportRelayEnd reports a relay that ended before its program.
func ReportRelayEnd(report io.Writer, why string) {
	// One write, so that others see a whole line.
	_, _ = io.WriteString(report, network.Ended+"yuba-network stopped before the program ("+why+"). Open connections hang until they time out, and new ones fail\n")
}

func (w relayWatch) close() {
	for _, file := range []*os.File{w.report, w.errs} {
		if file != nil {
			file.Close() //nolint:errcheck // nothing waits for it
		}
	}
}

// maxRelayError limits what is quoted of the relay's errors.
const maxRelayError = 200

// firstError is the first line of the relay's errors that is not about its walls.
func (w relayWatch) firstError() string {
	if w.errs == nil {
		return ""
	}
	text := make([]byte, 4<<10)
	n, _ := w.errs.ReadAt(text, 0)
	for line := range bytes.Lines(text[:n]) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || bytes.HasPrefix(line, []byte("yuba-sandbox: not confined")) {
			continue
		}
		return strings.ToValidUTF8(string(line[:min(len(line), maxRelayError)]), "")
	}
	return ""
}
