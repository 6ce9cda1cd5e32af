// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// labelPlatform names the platform of its namespace that a stack belongs to.
const labelPlatform = "yuba.dev/platform"

// chosen are the stacks to archive. Namespace is set if all of a namespace are.
type chosen struct {
	stacks    []infrav1.Terraform
	namespace string
}

// choose reads the stacks that the arguments name.
func choose(cmd *cobra.Command, s *session.Session, args []string, all bool) (chosen, error) {
	ctx := cmd.Context()
	if all {
		list, err := listed(cmd, s, s.Namespace, nil)
		if err == nil && len(list) == 0 {
			err = ui.Exitf(ui.ExitNotFound, "namespace %s has no stacks. Name another one with -n", s.Namespace)
		}
		return chosen{list, s.Namespace}, err
	}
	var c chosen
	for _, argument := range args {
		if platform, ok := strings.CutPrefix(argument, "platform/"); ok {
			list, err := listed(cmd, s, s.Namespace, client.MatchingLabels{labelPlatform: platform})
			if err == nil && len(list) == 0 {
				err = ui.Exitf(ui.ExitNotFound, "platform %s/%s has no stacks. For a stack in a namespace with the name platform, use: -n platform %s", s.Namespace, platform, platform)
			}
			if err != nil {
				return c, err
			}
			c.stacks = append(c.stacks, list...)
			continue
		}
		key, err := s.Stack(cmd, argument)
		if err != nil {
			return c, err
		}
		t, err := s.Get(ctx, key)
		if err != nil {
			return c, err
		}
		c.stacks = append(c.stacks, *t)
	}
	order(c.stacks)
	c.stacks = slices.CompactFunc(c.stacks, func(a, b infrav1.Terraform) bool { return a.UID == b.UID })
	return c, nil
}

func listed(cmd *cobra.Command, s *session.Session, namespace string, labels client.MatchingLabels) ([]infrav1.Terraform, error) {
	var list infrav1.TerraformList
	options := []client.ListOption{client.InNamespace(namespace)}
	if labels != nil {
		options = append(options, labels)
	}
	if err := s.Objects.List(cmd.Context(), &list, options...); err != nil {
		return nil, fmt.Errorf("list the stacks of namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(session.StackKind)
	}
	order(list.Items)
	return list.Items, nil
}

func order(stacks []infrav1.Terraform) {
	slices.SortFunc(stacks, func(a, b infrav1.Terraform) int { return strings.Compare(keyOf(&a).String(), keyOf(&b).String()) })
}

func keyOf(t *infrav1.Terraform) types.NamespacedName { return session.KeyOf(t) }
