package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFrontmatter is more than any skill has, in bytes.
const maxFrontmatter = 1 << 20

// Skill reads the frontmatter of a SKILL.md and returns the names of its
// required_environment_variables: a list of names, or of mappings with name. A text without
// frontmatter needs nothing.
func Skill(r io.Reader) ([]string, error) {
	head, err := frontmatter(r)
	if err != nil || head == "" {
		return nil, err
	}
	root, err := parse("frontmatter", []byte(head))
	if err != nil {
		return nil, err
	}
	for _, p := range pairs(root) {
		if p.name.Value == "required_environment_variables" {
			return required(p.node)
		}
	}
	return nil, nil
}

// frontmatter is the YAML between the first two lines of dashes. The first of them is kept as an
// empty line, so that positions are those of the file.
func frontmatter(r io.Reader) (string, error) {
	lines := bufio.NewScanner(io.LimitReader(r, maxFrontmatter+1))
	lines.Buffer(nil, maxFrontmatter)
	var head strings.Builder
	for n := 0; lines.Scan(); n++ {
		line := lines.Text()
		if n == 0 {
			if strings.TrimRight(strings.TrimPrefix(line, "\ufeff"), " \t\r") != "---" {
				return "", nil
			}
			line = ""
		}
		if n > 0 && strings.TrimRight(line, " \t\r") == "---" {
			return head.String(), nil
		}
		head.WriteString(line + "\n")
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("frontmatter: %w", err)
	}
	if head.Len() == 0 {
		return "", nil
	}
	return "", errors.New("frontmatter: no closing ---")
}

// required reads the list.
func required(node *yaml.Node) ([]string, error) {
	if isNull(node) {
		return nil, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: required_environment_variables: want a list", node.Line)
	}
	var names []string
	for _, item := range node.Content {
		name, err := requiredName(resolve(item))
		if err != nil {
			return nil, err
		}
		names = union(names, []string{name})
	}
	return names, nil
}

// requiredName reads one item of the list.
func requiredName(item *yaml.Node) (string, error) {
	name := ""
	switch item.Kind {
	case yaml.ScalarNode:
		name = item.Value
	case yaml.MappingNode:
		for _, p := range pairs(item) {
			if p.name.Value == "name" && p.node.Kind == yaml.ScalarNode {
				name = p.node.Value
			}
		}
	}
	if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, "=\x00") {
		return "", fmt.Errorf("line %d: required_environment_variables: want the name of a variable", item.Line)
	}
	return name, nil
}

// skillFile reads the skill at path.
func skillFile(path string) ([]string, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: want the path of a SKILL.md", path, cause(err))
	}
	defer f.Close()
	names, err := Skill(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return names, nil
}
