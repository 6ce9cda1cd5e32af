// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "fmt"

// DefinitionKind is the kind of items about definitions, which are in no namespace.
const DefinitionKind = "ApplicationDefinition"

// definitionItem decides about a definition. It is created where it does not exist, and never changed: other
// namespaces of the target may have objects of the kind.
func definitionItem(f Facts, d Definition) Item {
	item := Item{Kind: DefinitionKind, Name: d.Name, Verb: VerbCreate}
	switch {
	case !d.Served:
		item.Verb, item.Why = VerbConflict, fmt.Sprintf("%s does not serve ApplicationDefinitions. Install them there: yuba crds install", f.To.Name)
	case d.Rival != "":
		item.Verb, item.Why = VerbConflict, fmt.Sprintf("the definition %s has the kind %s at %s. Make both homes equal", d.Rival, d.Kind, f.To.Name)
	case d.Exists && !d.Same:
		item.Verb, item.Why = VerbConflict, fmt.Sprintf("%s has another definition of that name. Make both equal", f.To.Name)
	case d.Exists:
		item.Verb = VerbKeep
	}
	return item
}
