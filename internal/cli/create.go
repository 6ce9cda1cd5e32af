// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// blueprint is what the flags of "yuba create" say.
type blueprint struct {
	source, path, workspace, outputs                string
	vars, varsFrom, dependsOn                       []string
	interval                                        time.Duration
	auto, planOnly, destroyOnDeletion, export, wait bool
}

// sourceKinds are the kinds that --source may name.
var sourceKinds = []string{infrav1.SourceKindGitRepository, infrav1.SourceKindOCIRepository, infrav1.SourceKindBucket, infrav1.SourceKindExternalArtifact}

func newCreateCommand(a *app) *cobra.Command {
	var b blueprint
	cmd := &cobra.Command{
		Use: "create NAME --source KIND/NAME", SuggestFor: []string{"new", "add"},
		Short: "Create a stack whose program is in a source",
		Long: `Create a stack whose program is in a source: a GitRepository, OCIRepository, Bucket or ExternalArtifact. With --export the
manifest is written to standard output instead, for git. "yuba deploy" is for a directory of this machine.

The commands below create sources, Kustomizations, receivers and alerts; a stack that is to be called like one of them is NAMESPACE/NAME.`,
		Example: "  yuba create vpc --source GitRepository/infra --path ./vpc --interval 15m\n" +
			"  yuba create vpc --source OCIRepository/modules --var region=eu-1 --auto --write-outputs vpc-outputs\n" +
			"  yuba create vpc --source GitRepository/infra.flux-system --export > vpc.yaml",
		Args: arguments(1, 1), ValidArgsFunction: noNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&b.source, "source", "", "the source as KIND/NAME, or KIND/NAME.NAMESPACE (required)")
	flags.StringVar(&b.path, "path", "", "the directory of the root module in the source")
	flags.DurationVar(&b.interval, "interval", 10*time.Minute, "how often to look for drift")
	flags.StringVar(&b.workspace, "workspace", "", "the workspace")
	flags.StringArrayVar(&b.vars, "var", nil, "an input variable as NAME=VALUE; lists and objects are written as JSON")
	flags.StringArrayVar(&b.varsFrom, "vars-from", nil, "variables from Secret/NAME or ConfigMap/NAME")
	flags.StringArrayVar(&b.dependsOn, "depends-on", nil, "a stack that must be ready before, as NAME or NAMESPACE/NAME")
	flags.StringVar(&b.outputs, "write-outputs", "", "write the outputs into this Secret")
	flags.BoolVar(&b.auto, "auto", false, "let the server apply plans of this stack by itself")
	flags.BoolVar(&b.planOnly, "plan-only", false, "make plans and never apply one")
	flags.BoolVar(&b.destroyOnDeletion, "destroy-on-deletion", false, "destroy what the stack manages when it is deleted")
	flags.BoolVar(&b.export, "export", false, "write the manifest to standard output and create nothing")
	flags.BoolVarP(&b.wait, "wait", "w", false, "show the first run and wait for its end")
	out := addOutputFlag(cmd, "json", "yaml", "name")
	if err := cmd.RegisterFlagCompletionFunc("source", completeSources); err != nil {
		panic(fmt.Sprintf("%v. This is a bug in Yuba.", err))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		if b.export {
			return a.exportStack(cmd, args[0], b, out)
		}
		return a.onStack(out, func(ctx context.Context, s *session, key types.NamespacedName, _ []string) error {
			object, err := b.object(cmd, key)
			if err != nil {
				return err
			}
			return s.create(ctx, key, object, b.wait, out)
		})(cmd, args)
	}
	addKindCommands(cmd, func(k kind) bool { return specMakers[k.plural] != nil }, func(k kind) *cobra.Command { return newCreateKindCommand(a, k) })
	return cmd
}

// completeSources completes the kind of a source; its name is not asked for.
func completeSources(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var kinds []cobra.Completion
	for _, kind := range sourceKinds {
		kinds = append(kinds, kind+"/")
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// exportStack asks no API, and needs none.
func (a *app) exportStack(cmd *cobra.Command, name string, b blueprint, out *output) error {
	namespace, _, err := a.loader().Namespace()
	if clientcmd.IsEmptyConfig(err) {
		namespace, err = cmp.Or(a.overrides.Context.Namespace, metav1.NamespaceDefault), nil
	}
	if err != nil {
		return err
	}
	key, err := (&session{app: a, namespace: namespace}).stack(cmd, name)
	if err != nil {
		return err
	}
	object, err := b.object(cmd, key)
	if err != nil {
		return err
	}
	if out.form == "name" {
		return usageErrorf(cmd, "-o name: --export writes json or yaml")
	}
	if out.form == "" {
		out.form = "yaml"
	}
	return out.print(a.out, object.Object)
}

func (s *session) create(ctx context.Context, key types.NamespacedName, object *unstructured.Unstructured, wait bool, out *output) error {
	err := s.objects.Create(ctx, object, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return exitf(exitError, "create %s: there is such a stack already. Change it:\n    yuba kubectl edit tf %s -n %s", key, key.Name, key.Namespace)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", key, err)
	}
	s.news("%s is created.", key)
	switch {
	case wait:
		r := review{action: "create", out: out, follower: follower{session: s, key: key, generation: object.GetGeneration()}}
		return r.follow(ctx)
	case out.machine():
		t, err := s.get(ctx, key)
		if err != nil {
			return err
		}
		return s.showStatus(ctx, t, out)
	}
	return nil
}

// object is the stack as the flags describe it.
func (b blueprint) object(cmd *cobra.Command, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		return nil, usageErrorf(cmd, "%s: %s", key.Name, problems[0])
	}
	source, err := b.sourceRef(cmd, key.Namespace)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{"interval": b.interval.String(), "sourceRef": source}
	for field, value := range map[string]string{"path": b.path, "workspace": b.workspace} {
		if value != "" {
			spec[field] = value
		}
	}
	if b.auto {
		spec["approvePlan"] = infrav1.ApprovePlanAuto
	}
	for field, set := range map[string]bool{"planOnly": b.planOnly, "destroyResourcesOnDeletion": b.destroyOnDeletion} {
		if set {
			spec[field] = true
		}
	}
	if b.outputs != "" {
		spec["writeOutputsToSecret"] = map[string]any{"name": b.outputs}
	}
	if err := b.addLists(cmd, spec); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": infrav1.GroupVersion.String(), "kind": stackKind.Kind,
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		"spec":     spec,
	}}, nil
}

func (b blueprint) sourceRef(cmd *cobra.Command, namespace string) (map[string]any, error) {
	kind, name, ok := strings.Cut(b.source, "/")
	switch {
	case b.source == "":
		return nil, usageErrorf(cmd, "--source is missing: where is the program?")
	case !ok || name == "" || !slices.Contains(sourceKinds, kind):
		return nil, usageErrorf(cmd, "--source %q: want KIND/NAME, and KIND one of %s", b.source, strings.Join(sourceKinds, ", "))
	}
	source := map[string]any{"kind": kind, "name": name}
	// Flux's way to name another namespace.
	if at := strings.LastIndex(name, "."); at > 0 && name[at+1:] != namespace {
		source["name"], source["namespace"] = name[:at], name[at+1:]
	} else if at > 0 {
		source["name"] = name[:at]
	}
	return source, nil
}

func (b blueprint) addLists(cmd *cobra.Command, spec map[string]any) error {
	var vars, varsFrom, dependsOn []any
	for _, v := range b.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return usageErrorf(cmd, "--var %q: want NAME=VALUE", v)
		}
		vars = append(vars, map[string]any{"name": name, "value": value})
	}
	for _, v := range b.varsFrom {
		kind, name, ok := strings.Cut(v, "/")
		if !ok || name == "" || kind != "Secret" && kind != "ConfigMap" {
			return usageErrorf(cmd, "--vars-from %q: want Secret/NAME or ConfigMap/NAME", v)
		}
		varsFrom = append(varsFrom, map[string]any{"kind": kind, "name": name})
	}
	for _, v := range b.dependsOn {
		namespace, name, both := strings.Cut(v, "/")
		if !both {
			namespace, name = "", v
		}
		if name == "" || both && namespace == "" {
			return usageErrorf(cmd, "--depends-on %q: want NAME or NAMESPACE/NAME", v)
		}
		dependency := map[string]any{"name": name}
		if both {
			dependency["namespace"] = namespace
		}
		dependsOn = append(dependsOn, dependency)
	}
	for field, list := range map[string][]any{"vars": vars, "varsFrom": varsFrom, "dependsOn": dependsOn} {
		if list != nil {
			spec[field] = list
		}
	}
	return nil
}
