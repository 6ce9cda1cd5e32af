// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// objectName makes the name of an object.
func objectName(text string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// stackOf is the name of the environment's stack.
func stackOf(e catalog.Environment) string {
	if e.Stack != "" {
		return e.Stack
	}
	return objectName(e.Name)
}

// planOnServer plans the environment's stack on the server, with the files as they are here.
func (g *group) planOnServer(cmd *cobra.Command, name string, o *planned) error {
	if len(o.in.vars)+len(o.in.files)+len(o.targets)+len(o.replace) > 0 || o.refreshOnly || o.destroy || o.file != "" {
		return ui.UsageErrorf(cmd, "the stack has its own values and targets: leave --var, --var-file, --target, --replace, --destroy, --refresh-only and --out out with --on-server")
	}
	c, e, err := g.named(name)
	if err != nil {
		return err
	}
	preview := g.Preview(g.App)
	args := []string{c.Root, "--stack", stackOf(e)}
	if o.detailed {
		args = append(args, "--detailed-exitcode")
	}
	if o.out.Machine() {
		args = append(args, "-o", o.out.Form)
	}
	preview.SetArgs(args)
	preview.SilenceErrors, preview.SilenceUsage = true, true
	err = preview.ExecuteContext(cmd.Context())
	if ui.IsNotFound(err) {
		return ui.Exitf(ui.ExitNotFound, "%w\nIf %s has no stack yet:\n    yuba env connect %s", err, name, name)
	}
	return err
}

// connection are the flags of "yuba env connect".
type connection struct {
	source, varsFrom, envFrom string
	auto, ownState, takeOver  bool
	out                       *ui.Output
}

func (g *group) newConnectCommand() *cobra.Command {
	var o connection
	cmd := &cobra.Command{
		Use:   "connect ENV",
		Short: "Make a stack of an environment on a server, on the same state",
		Long: `Make a stack of an environment on a server: same files, same state. The server plans it, detects drift, and applies what is approved.

With a backend in the program (s3, gcs, azurerm, pg, http, kubernetes, cloud), the stack uses this backend: no state is moved or copied,
and the commands of "yuba env" go on to work beside the server; the backend's lock keeps them apart. The server needs the backend's credentials:
name a Secret with them with --env-from.

Without a backend the state is a file here, which a server cannot use. With --own-state the stack keeps its own state. If there is a file, the
stack is suspended, and the command says how to push the file and resume it. --auto is refused until then: it would make everything again.

The files are pushed, or are those of a source that the server follows (--source GitRepository/live). The first plans wait for
approval, unless --auto is given. With -o yaml the object is only printed.

A stack or an artifact of another repository is left alone, unless --replace is given.`,
		Example: "  yuba env connect staging\n  yuba env connect staging --source GitRepository/live --env-from aws-credentials\n  yuba env connect staging --own-state\n  yuba env connect staging -o yaml",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.source, "source", "", "KIND/NAME of a source that has the repository, in place of pushing it")
	flags.StringVar(&o.varsFrom, "vars-from", "", "a Secret with values of variables")
	flags.StringVar(&o.envFrom, "env-from", "", "a Secret with variables of the environment, such as credentials")
	flags.BoolVar(&o.auto, "auto", false, "apply plans of this stack automatically")
	flags.BoolVar(&o.ownState, "own-state", false, "let the stack keep its own state, if the program has no backend")
	flags.BoolVar(&o.takeOver, "replace", false, "take over a stack or an artifact that belongs to another source or repository")
	o.out = ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.within(args[0], inputs{}, func(p *place) error { return p.connect(cmd, &o) })
	}
	return cmd
}

// connect writes the stack.
func (p *place) connect(cmd *cobra.Command, o *connection) error {
	backend := "local"
	if p.module.Backend != nil {
		backend = p.module.Backend.Type
	}
	if backend == "local" && !o.ownState {
		return ui.Exitf(ui.ExitRefused, "connect %s: its state is a file on this machine, which a server cannot use. Give it a backend and move the state there, or let the stack keep it:\n    yuba env init %s --migrate-state\n    yuba env connect %s --own-state", p.label(), p.label(), p.label())
	}
	file := ""
	if backend == "local" {
		var err error
		if file, err = p.stateFile(); err != nil {
			return err
		}
	}
	if o.out.Machine() {
		return p.printStack(cmd, backend, file, o)
	}
	s, err := p.Connect()
	if err != nil {
		return err
	}
	key, err := s.Stack(cmd, stackOf(p.env))
	if err != nil {
		return err
	}
	stack, err := p.stack(key, backend, o)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	before, err := p.free(ctx, s, key, o)
	if err != nil {
		return err
	}
	waits, err := p.awaitState(stack, before, file, o)
	if err != nil {
		return err
	}
	if o.source == "" {
		artifact := types.NamespacedName{Namespace: key.Namespace, Name: p.sourceName()}
		if err := p.claim(ctx, s, artifact); err != nil {
			return err
		}
		if _, err := p.Push(ctx, s, p.root, artifact); err != nil {
			return err
		}
		p.News("Pushed %s as ExternalArtifact %s.", p.root, p.sourceName())
	}
	stack.SetAnnotations(map[string]string{annotationRepository: p.identities(ctx)[0]})
	if err := s.Objects.Patch(ctx, stack, yamltext.Apply, session.FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("connect %s: %w", p.label(), err)
	}
	p.print("%s\n", key)
	if waits {
		p.News("The stack %s is suspended until it has the state. Push the state, and resume the stack:\n    yuba state push %s %s --yes\n    yuba resume %s", key, s.Call(key), file, s.Call(key))
		return nil
	}
	p.News("The stack %s plans %s. See it with:\n    yuba status %s", key, p.label(), s.Call(key))
	if backend == "local" && before == nil {
		p.News("It begins without a state: there is none at %s. If it is elsewhere, push it before you approve a plan:\n    yuba state push %s FILE", file, s.Call(key))
	}
	return nil
}

// printStack prints the object.
func (p *place) printStack(cmd *cobra.Command, backend, file string, o *connection) error {
	s, err := p.Unconnected()
	if err != nil {
		return err
	}
	key, err := s.Stack(cmd, stackOf(p.env))
	if err != nil {
		return err
	}
	stack, err := p.stack(key, backend, o)
	if err != nil {
		return err
	}
	if _, err := p.awaitState(stack, nil, file, o); err != nil {
		return err
	}
	return o.out.Print(p.Out, stack.Object)
}

// awaitState suspends a new stack that is to get the state in a file (empty for a backend of the program), and one
// that still waits for it. A stack without its state plans to make everything again.
func (p *place) awaitState(stack *unstructured.Unstructured, before *infrav1.Terraform, file string, o *connection) (waits bool, err error) {
	suspended := before != nil && before.Spec.Suspend
	if file == "" || before != nil && !suspended {
		return false, nil
	}
	if suspended {
		if _, known := before.StateLocation(); known { // somebody suspended it, for another reason
			return false, unstructured.SetNestedField(stack.Object, true, "spec", "suspend")
		}
	}
	if o.auto {
		return false, ui.Exitf(ui.ExitRefused, "connect %s: the stack has no state yet, and would apply automatically what is there already. Connect it without --auto, push the state, resume the stack, and then:\n    yuba env connect %s --own-state --auto", p.label(), p.label())
	}
	if _, err := os.Stat(file); err != nil && !suspended {
		return false, nil //nolint:nilerr // there is no state to wait for
	}
	return true, unstructured.SetNestedField(stack.Object, true, "spec", "suspend")
}

// sourceName is the name of the artifact with the library.
func (p *place) sourceName() string {
	if name := objectName(filepath.Base(p.root)); name != "" {
		return name
	}
	return "library"
}

// stack is the object for the environment.
func (p *place) stack(key types.NamespacedName, backend string, o *connection) (*unstructured.Unstructured, error) {
	kind, name, err := o.sourceOf(p.sourceName())
	if err != nil {
		return nil, err
	}
	spec := map[string]any{"interval": "10m", "path": "./" + p.env.Dir, "sourceRef": map[string]any{"kind": kind, "name": name}}
	if o.auto {
		spec["approvePlan"] = infrav1.ApprovePlanAuto
	}
	if backend != "local" {
		spec["backendConfig"] = map[string]any{"disable": true}
	}
	if p.env.Workspace != "" {
		spec["workspace"] = p.env.Workspace
	}
	var files []any
	for _, name := range p.env.VarFiles {
		files = append(files, name)
	}
	if len(files) > 0 {
		spec["tfVarsFiles"] = files
	}
	if o.varsFrom != "" {
		spec["varsFrom"] = []any{map[string]any{"kind": "Secret", "name": o.varsFrom}}
	} else if err := p.checkValues(); err != nil {
		var wrong *ValuesError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%w\nOn a server, values that are in no file come from a Secret: --vars-from NAME", err)
		}
		return nil, err
	}
	if o.envFrom != "" {
		spec["envFrom"] = []any{map[string]any{"secretRef": map[string]any{"name": o.envFrom}}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(session.Stacks.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	return u, nil
}
