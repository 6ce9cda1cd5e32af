// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// defaultTimeout is for checks that name none. The API fills it in; objects of older versions may lack it.
const defaultTimeout = 20 * time.Second

// maxTimeout keeps a check from taking a place for ever.
const maxTimeout = 5 * time.Minute

// Output is the value of an output, as templates see it: a text as it is, anything else as JSON.
type Output struct {
	Text      string
	Sensitive bool
}

// Probe is a check that is ready to be made.
type Probe struct {
	Name string
	Kind string
	// Shown is the place as it may be shown.
	Shown   string
	Timeout time.Duration

	target string
}

// hidden stands where a sensitive value would be.
const hidden = "(sensitive)"

// Uses reports whether any check needs outputs.
func Uses(checks []infrav1.HealthCheck) bool {
	for i := range checks {
		if strings.Contains(place(&checks[i]), "${{") {
			return true
		}
	}
	return false
}

func place(c *infrav1.HealthCheck) string {
	if c.Type == infrav1.HealthCheckTCP {
		return c.Address
	}
	return c.URL
}

// Prepare fills outputs into checks. Its error is for people and holds no value.
func Prepare(checks []infrav1.HealthCheck, outputs map[string]Output) ([]Probe, error) {
	open, shown := map[string]any{}, map[string]any{}
	for name, output := range outputs {
		open[name], shown[name] = output.Text, output.Text
		if output.Sensitive {
			shown[name] = hidden
		}
	}
	probes := make([]Probe, 0, len(checks))
	for i := range checks {
		c := &checks[i]
		p := Probe{Name: c.Name, Kind: c.Type, Timeout: defaultTimeout}
		if c.Timeout != nil && c.Timeout.Duration > 0 {
			p.Timeout = min(c.Timeout.Duration, maxTimeout)
		}
		var failed, hides error
		p.target, failed = render(i, c, open)
		p.Shown, hides = render(i, c, shown)
		switch {
		case failed != nil && hides != nil:
			return nil, hides // a template may put values into its error
		case failed != nil:
			return nil, fmt.Errorf("health check %s: its place cannot be filled in with the sensitive outputs it names", c.Name)
		case hides != nil:
			p.Shown = place(c) // what cannot be filled in without the values is shown as it is written
		}
		probes = append(probes, p)
	}
	return probes, nil
}

func render(i int, c *infrav1.HealthCheck, outputs map[string]any) (string, error) {
	field := "url"
	if c.Type == infrav1.HealthCheckTCP {
		field = "address"
	}
	text, err := template.Text(fmt.Sprintf("spec.healthChecks[%d].%s", i, field), place(c), outputs)
	if err != nil {
		return "", fmt.Errorf("health check %s: %w", c.Name, err)
	}
	return text, nil
}

// FailedError says that something does not answer as it should.
type FailedError struct {
	Probe Probe
	// Cause is why, in words that may be shown.
	Cause string
}

// Error begins with the very line that tools compare.
func (e *FailedError) Error() string {
	format := infrav1.MessageHTTPCheckFailed
	if e.Probe.Kind == infrav1.HealthCheckTCP {
		format = infrav1.MessageTCPCheckFailed
	}
	return fmt.Sprintf(format, e.Probe.Name, e.Probe.Shown) + "\n" + e.Cause
}

var errNoHost = errors.New("it names no host")
