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

// defaultTimeout is for checks without one, as in objects of older versions.
const defaultTimeout = 20 * time.Second

// maxTimeout keeps a check from occupying a place forever.
const maxTimeout = 5 * time.Minute

// Output is the value of an output for templates: a text as it is, others as JSON.
type Output struct {
	Text      string
	Sensitive bool
}

// Probe is a check that is ready to run.
type Probe struct {
	Name string
	Kind string
	// Shown is the place in a form that may be shown.
	Shown   string
	Timeout time.Duration

	target string
}

// hidden replaces sensitive values.
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

// Prepare fills outputs into checks. Its error contains no values.
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
			return nil, hides // the template's error may contain values
		case failed != nil:
			return nil, fmt.Errorf("health check %s: its place cannot be filled in with the sensitive outputs it names", c.Name)
		case hides != nil:
			p.Shown = place(c) // unfilled if that needs sensitive values
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

// FailedError is a check that failed.
type FailedError struct {
	Probe Probe
	// Cause is the reason, in a form that may be shown.
	Cause string
}

// Error begins with exactly the line that tools compare.
func (e *FailedError) Error() string {
	format := infrav1.MessageHTTPCheckFailed
	if e.Probe.Kind == infrav1.HealthCheckTCP {
		format = infrav1.MessageTCPCheckFailed
	}
	return fmt.Sprintf(format, e.Probe.Name, e.Probe.Shown) + "\n" + e.Cause
}

var errNoHost = errors.New("it names no host")
