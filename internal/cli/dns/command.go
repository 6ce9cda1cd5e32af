// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// maxFile exceeds the size of objects that an API accepts.
const maxFile = 16 << 20

// NewCommand is "yuba dns".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "dns", SuggestFor: []string{"failover", "failoverrecord", "record", "domain", "subdomain", "subdomainpool", "subdomainclaim"},
		Short: "Claim subdomains, see what DNS names that fail over answer, and simulate outages",
		Long: `Claim subdomains of a pool, and see what the names of FailoverRecords answer, and would answer while endpoints are down.
Apply FailoverRecords and SubdomainPools like other objects, with kubectl or from a source.`,
		Example: "  yuba dns claim acme --pool apps --address 192.0.2.1\n  yuba dns show www\n  yuba dns simulate www --down eu-1\n  yuba dns simulate -f www.yaml",
	}, newPoolCommand(a), newClaimCommand(a), newReleaseCommand(a), newCheckCommand(a), newShowCommand(a), newSimulateCommand(a))
}

func newShowCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what a name answers, its endpoints and its records on the server",
		Long: `Show what the name of a FailoverRecord answered last, what the answer tells of its endpoints, and the records on the server.
An endpoint is Unknown if the answer does not tell, such as when only one address is answered.`,
		Example: "  yuba dns show www\n  yuba dns show shop/www -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.FailoverRecords, false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		f, err := fromAPI(cmd.Context(), s, key)
		if err != nil {
			return err
		}
		if out.Machine() {
			return out.Print(s.Out, f)
		}
		show(s, f, time.Now())
		return nil
	})
	return cmd
}

// show prints a record for people.
func show(s *session.Session, f *yubav1.FailoverRecord, now time.Time) {
	l := ui.Labels{Writer: s.Out, Now: now}
	l.Line("Host", "%s", f.Spec.Host)
	placement := string(f.Spec.Placement)
	if f.Spec.Selector != "" {
		placement += ", " + string(f.Spec.Selector)
	}
	l.Line("Placement", "%s", placement)
	ready := conditions.Of(f, infrav1.ConditionReady)
	if ready.Type == "" {
		ready.Reason, ready.Message = "Pending", "not processed yet"
	}
	l.Line("Status", "%s: %s", ready.Reason, ready.Message)
	var changed *time.Time
	if f.Status.AnswerChangedAt != nil {
		changed = &f.Status.AnswerChangedAt.Time
	}
	if f.Status.Answer != "" {
		l.Line("Answer", "%s%s", f.Status.Answer, l.Ago(changed))
	}
	states := map[string]yubav1.FailoverState{}
	for _, e := range f.Status.Endpoints {
		states[e.Name] = e.State
	}
	for i, e := range f.Spec.Endpoints {
		label := ""
		if i == 0 {
			label = "Endpoints"
		}
		text := e.Name
		if e.Priority != nil {
			text += fmt.Sprintf(" (priority %d)", *e.Priority)
		}
		if e.Weight != nil {
			text += fmt.Sprintf(" (weight %d)", *e.Weight)
		}
		state := states[e.Name]
		if state == "" {
			state = yubav1.EndpointUnknown
		}
		l.Line(label, "%s: %s %s", text, state, joined(e.Addresses))
	}
	if f.Status.Zone != "" {
		l.Line("Server", "PowerDNS %s at %s, zone %s", f.Status.ServerVersion, f.Spec.Publish.PowerDNS.URL, f.Status.Zone)
	}
	for _, w := range f.Status.Warnings {
		l.Line("Warning", "%s", w)
	}
	for _, r := range f.Status.Records {
		l.Line("Record", "LUA %s", r)
	}
}

// fromAPI reads a record.
func fromAPI(ctx context.Context, s *session.Session, key types.NamespacedName) (*yubav1.FailoverRecord, error) {
	f := &yubav1.FailoverRecord{}
	if err := s.GetAs(ctx, session.FailoverRecords, key, f); ui.IsNotFound(err) {
		return nil, ui.Exitf(ui.ExitNotFound, "there is no FailoverRecord %s. List them:\n    yuba kubectl get failoverrecords -n %s", key, key.Namespace)
	} else if err != nil {
		return nil, err
	}
	return f, nil
}

// fromFile finds a record in a file. A file with one record needs no name.
func fromFile(console *ui.Console, file, name string) (found *yubav1.FailoverRecord, err error) {
	data, err := console.ReadFile(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read the FailoverRecord: %w", err)
	}
	documents := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var head metav1.PartialObjectMetadata
		if err == nil {
			err = yaml.Unmarshal(text, &head)
		}
		if err != nil {
			return nil, ui.Exitf(ui.ExitFailure, "read %s: it does not have objects in YAML or JSON: %s", file, plain(err))
		}
		if head.Kind != yubav1.FailoverRecordKind || name != "" && head.Name != name {
			continue
		}
		// The API warns of unknown fields, and a simulation without a field that has a typing mistake would mislead.
		var f yubav1.FailoverRecord
		if err := yaml.UnmarshalStrict(text, &f); err != nil {
			return nil, ui.Exitf(ui.ExitFailure, "read the FailoverRecord %s of %s: %s", head.Name, file, plain(err))
		}
		if found != nil {
			return nil, ui.Exitf(ui.ExitUsage, "%s has several FailoverRecords: name one of them", file)
		}
		found = &f
	}
	if found == nil {
		return nil, ui.Exitf(ui.ExitNotFound, "%s", strings.TrimSpace(file+" has no FailoverRecord "+name))
	}
	return found, nil
}

// plain is what a decoder has to say, without the names of its layers.
func plain(err error) string {
	text := err.Error()
	for _, layer := range []string{"error unmarshaling JSON: ", "error converting YAML to JSON: ", "while decoding JSON: ", "json: ", "yaml: "} {
		text = strings.TrimPrefix(text, layer)
	}
	return text
}
