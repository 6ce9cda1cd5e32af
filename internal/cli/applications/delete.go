// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// deletePause is the time between two looks at an instance that is being deleted.
const deletePause = 250 * time.Millisecond

// deletion are the flags of "yuba app delete".
type deletion struct {
	yes, wait, abandon bool
	confirm            string
}

func newDeleteCommand(a *session.App) *cobra.Command {
	var d deletion
	cmd := &cobra.Command{
		Use: "delete KIND NAME", SuggestFor: []string{"rm", "remove", "destroy"},
		Short: "Delete an instance with everything that it made",
		Long: `Delete an instance. Yuba first destroys what it made, and keeps its inputs and credentials as long as that takes. The command
shows what will be destroyed, asks, and waits until the instance is gone; meanwhile it reports what the deletion waits for: an
approval, a failed destroy, another object.

With --abandon, Yuba destroys nothing: all resources stay, cost what they cost, and nobody manages them any more. The command
then asks for the instance's name; --confirm NAME answers. Use it if the resources are gone already, or if others take them
over, also for an instance whose deletion is blocked. Interrupting the command does not stop a deletion.`,
		Example: "  yuba app delete bucket photos\n  yuba app delete bucket team-a/photos --yes --wait=false\n  yuba app delete bucket photos --abandon --confirm photos",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: ui.NoNames,
	}
	f := cmd.Flags()
	f.BoolVarP(&d.yes, "yes", "y", false, "delete without a question, even if resources are destroyed")
	f.BoolVar(&d.wait, "wait", true, "wait until the instance is gone")
	f.BoolVar(&d.abandon, "abandon", false, "leave all resources as they are, unmanaged")
	f.StringVar(&d.confirm, "confirm", "", "the name of the instance, to abandon its resources without a question")
	ui.CompleteFlag(cmd, "confirm", ui.NoNames)
	ui.AddTimeoutFlag(cmd, 0, "how long to wait; 0 means no limit")
	cmd.RunE = onInstance(a, func(ctx context.Context, s *session.Session, kind session.Kind, i content.Instance, _ []string) error {
		if d.confirm != "" && !d.abandon {
			return ui.UsageErrorf(cmd, "--confirm goes with --abandon")
		}
		return d.run(ctx, s, kind, i)
	})
	return cmd
}

func (d deletion) run(ctx context.Context, s *session.Session, kind session.Kind, i content.Instance) error {
	objects, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		return fmt.Errorf("create a client for instances: %w", err)
	}
	all := objects.Resource(appv1.InstanceVersion.WithResource(i.Resource)).Namespace(i.Namespace)
	o, err := all.Get(ctx, i.Name, metav1.GetOptions{})
	if err != nil {
		return failed("delete", i, err)
	}
	if err := d.ask(s, kind, o); err != nil {
		return err
	}
	if d.abandon {
		if err := abandon(ctx, all, o); err != nil {
			return failed("abandon the resources of", i, err)
		}
	}
	uid := o.GetUID()
	if o.GetDeletionTimestamp() == nil {
		// Do not delete a newer instance of the same name.
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
		if err := all.Delete(ctx, i.Name, options); err != nil && !apierrors.IsNotFound(err) {
			return failed("delete", i, err)
		}
	}
	if !d.wait {
		s.News("%s %s/%s is being deleted. Follow it:\n    yuba app why %s %s", kind.Word, i.Namespace, i.Name, kind.Word, s.Call(types.NamespacedName{Namespace: i.Namespace, Name: i.Name}))
		return nil
	}
	if err := awaitGone(ctx, s, all, i.Name, uid); err != nil {
		return err
	}
	if d.abandon {
		s.News("%s %s/%s is deleted. Its resources still exist, and nobody manages them.", kind.Word, i.Namespace, i.Name)
		return nil
	}
	s.News("%s %s/%s is deleted.", kind.Word, i.Namespace, i.Name)
	return nil
}

// ask asks for what cannot be undone.
func (d deletion) ask(s *session.Session, kind session.Kind, o *unstructured.Unstructured) error {
	name := kind.Word + " " + o.GetNamespace() + "/" + o.GetName()
	if !d.abandon {
		if o.GetDeletionTimestamp() != nil {
			return nil // somebody has decided that
		}
		return s.MustConfirm(d.yes, fmt.Sprintf("Delete %s, and destroy everything that it made%s?", name, madeBy(o)))
	}
	says := fmt.Sprintf("All resources of %s stay as they are%s. They go on costing what they cost, nobody looks for drift or applies changes, and another instance of the name does not find them.", name, madeBy(o))
	switch {
	case d.confirm == o.GetName():
		s.News("%s", says)
		return nil
	case d.confirm != "":
		return ui.Exitf(ui.ExitUsage, "--confirm %s is not the name of %s. Nothing was changed", d.confirm, name)
	}
	return s.MustConfirmName(says, o.GetName(), "--confirm "+o.GetName())
}

// madeBy lists what an instance made.
func madeBy(o *unstructured.Unstructured) string {
	status := statusOf(o)
	var names []string
	for _, r := range status.Resources {
		names = append(names, r.Kind+" "+r.Name)
	}
	if b := status.BackendRef; b != nil && len(names) == 0 {
		names = append(names, b.Kind+" "+b.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// abandon writes the annotation that keeps the resources, for exactly this instance.
func abandon(ctx context.Context, all dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID(), "annotations": map[string]any{appv1.AnnotationAbandon: string(o.GetUID())}}})
	if err != nil {
		return err
	}
	_, err = all.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// awaitGone waits until an instance is gone, and says what its deletion waits for.
func awaitGone(ctx context.Context, s *session.Session, all dynamic.ResourceInterface, name string, uid types.UID) error {
	told, kind := "its resources are being destroyed", ""
	for {
		o, err := all.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && o.GetUID() != uid:
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil:
			kind = strings.ToLower(o.GetKind())
			if says := waitsFor(o); says != "" && says != told {
				s.News("Waiting: %s", says)
				told = says
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ui.Exitf(ui.ExitInterrupted, "interrupted: the deletion goes on. See: yuba app why %s %s", kind, name)
			}
			return ui.Exitf(ui.ExitWaiting, "%s is not gone yet: %s. The deletion goes on; see: yuba app why %s %s", name, told, kind, name)
		case <-time.After(deletePause):
		}
	}
}

// waitsFor says what the deletion of an instance waits for, and how far its objects are.
func waitsFor(o *unstructured.Unstructured) string {
	status := statusOf(o)
	if status.Phase != appv1.PhaseDeleting {
		return ""
	}
	c := apimeta.FindStatusCondition(status.Conditions, appv1.ConditionReady)
	if c == nil {
		return ""
	}
	return ui.FirstLine(c.Message, 300)
}
