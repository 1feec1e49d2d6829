// Prints the lines with syntax errors of Swift files: node syntax.js FILE...
const fs = require('fs');
const Parser = require('tree-sitter');

const parser = new Parser();
parser.setLanguage(require('tree-sitter-swift'));

function report(file, node) {
	if (node.type === 'ERROR' || node.isMissing) {
		console.log(`${file}:${node.startPosition.row + 1}: ${node.type}`);
	}
	node.children.forEach((child) => report(file, child));
}

for (const file of process.argv.slice(2)) {
	report(file, parser.parse(fs.readFileSync(file, 'utf8')).rootNode);
}
